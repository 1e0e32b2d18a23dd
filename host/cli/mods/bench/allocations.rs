//! How many allocations a call takes. Every library has its own allocator, but all of them take their memory from the
//! C library, and there valgrind sees them: those of the mod and of the host together.

use std::path::Path;

use super::{Bench, one};
use crate::{cli::mods::trial::Error, mod_host::Measured};

/// How often the hook is called, in one process and in another: what a call takes is the difference, so that nothing
/// of the start is in it.
const CALLS: [u32; 2] = [20, 520];

/// How much longer everything may take.
const SLOWER: u32 = 50;

const VALGRIND: &str = "valgrind";
const DHAT: [&str; 2] = ["--tool=dhat", "--dhat-out-file=/dev/null"];

/// Whether they can be counted here.
pub(super) async fn can_be_counted() -> bool {
    let asked = tokio::process::Command::new(VALGRIND).arg("--version").output();
    asked.await.is_ok_and(|output| output.status.success())
}

/// How many allocations a call of `hook` takes, with one of the hook that does nothing, which takes none. In tenths:
/// other threads of the process take memory now and then.
pub(super) async fn counted(bench: &Bench<'_>, path: &Path, hook: &str) -> Result<f64, Error> {
    let [few, many] =
        [blocks(bench, path, hook, CALLS[0]).await?, blocks(bench, path, hook, CALLS[1]).await?];
    let (calls, blocks) = (many.0.saturating_sub(few.0), many.1.saturating_sub(few.1));
    if calls == 0 {
        return Err(not_counted(hook, "its calls take too long"));
    }
    Ok((10.0 * blocks as f64 / f64::from(calls)).round() / 10.0)
}

/// The calls and the allocations of a process.
async fn blocks(bench: &Bench<'_>, path: &Path, hook: &str, calls: u32) -> Result<(u32, u64), Error> {
    let (args, limit) = one::command(bench, Some(hook), calls, SLOWER);
    let output = bench.children.output(Some((VALGRIND, &DHAT)), hook, path, &args, limit).await?;
    let told = String::from_utf8_lossy(&output.stderr);
    let blocks = total(&told).ok_or_else(|| not_counted(hook, "valgrind gives no total"))?;
    let measured: Measured = super::child::read(hook.to_owned(), &output)?;
    Ok((measured.calls, blocks))
}

fn not_counted(hook: &str, reason: &str) -> Error {
    Error::NotTried { name: hook.to_owned(), reason: reason.to_owned() }
}

/// The number of blocks in what valgrind says at its end: `==1== Total:     349,535 bytes in 1,922 blocks`.
fn total(told: &str) -> Option<u64> {
    let line = told.lines().rfind(|line| line.contains(" Total: "))?;
    let (_, blocks) = line.split_once(" bytes in ")?;
    let digits = blocks.strip_suffix(" blocks")?.replace(',', "");
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_total_is_what_valgrind_says_last() {
        let told = "==7== Total: of the mod\n==7== \n==7== Total:     349,535 bytes in 1,922 blocks\n==7== At t-gmax: 1";
        assert_eq!(total(told), Some(1922));
        assert_eq!(total("==7== Total: 1 bytes in many blocks"), None);
        assert_eq!(total(""), None);
    }
}
