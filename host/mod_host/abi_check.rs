//! Proves that a library's root module has the layout that this host was built with.
//!
//! abi_stable's own check takes a newer library and refuses an older one, and what it answers depends on
//! what was loaded before. So the check is our own: the older side is the interface, with fresh state
//! for every library.
#![allow(unsafe_code)]

use abi_stable::{
    StableAbi,
    abi_stability::abi_checking::{CheckingGlobals, check_layout_compatibility_with_globals},
    library::{AbiHeaderRef, LibHeader, ROOT_MODULE_LOADER_NAME_WITH_NUL},
};
use libloading::Library;
use mod_interface::abi::{INTERFACE, InterfaceVersion, ModRootRef};

use super::LoadError;

/// The root module of `library`, proven to fit.
pub(crate) fn root_module(library: &Library, name: &str) -> Result<ModRootRef, LoadError> {
    let header = header(library, name)?;
    let theirs = interface_of(header);
    if theirs.is_none_or(|theirs| theirs.major != INTERFACE.major || theirs.minor > INTERFACE.minor) {
        let got =
            theirs.map_or_else(|| "none".to_owned(), |theirs| format!("{}.{}", theirs.major, theirs.minor));
        return Err(LoadError::Interface { name: name.to_owned(), got, expected: ours() });
    }
    check_layout(header, name)?;
    // SAFETY: the layout of the library's root module was just proven to be one that `ModRootRef`,
    // being the same or newer, can read.
    let root = unsafe { header.unchecked_layout::<ModRootRef>() };
    root.map_err(|error| LoadError::NoRootModule {
        name: name.to_owned(),
        error: first_line(&error.to_string()),
    })
}

fn header(library: &Library, name: &str) -> Result<&'static LibHeader, LoadError> {
    let missing =
        |error: String| LoadError::NoRootModule { name: name.to_owned(), error: first_line(&error) };
    // SAFETY: a static of that name is the header that abi_stable's macros and ours put there. Its
    // first field says which abi_stable made it, and `upgrade` looks at that before all else. The
    // library is never unloaded, so the header lives for ever.
    let header = unsafe { library.get::<AbiHeaderRef>(ROOT_MODULE_LOADER_NAME_WITH_NUL.as_bytes()) };
    let header = *header.map_err(|_| missing("none".to_owned()))?;
    header.upgrade().map_err(|error| missing(error.to_string()))
}

fn check_layout(header: &'static LibHeader, name: &str) -> Result<(), LoadError> {
    let misfit = |error: String| LoadError::Layout { name: name.to_owned(), error };
    let theirs = header.layout().ok_or_else(|| misfit("it carries no layout".to_owned()))?;
    let ours = <ModRootRef as StableAbi>::LAYOUT;
    // Never newer than ours: that was refused above.
    check_layout_compatibility_with_globals(theirs, ours, &CheckingGlobals::new())
        .map_err(|errors| misfit(first_difference(&errors.to_string())))
}

fn interface_of(header: &LibHeader) -> Option<InterfaceVersion> {
    let mut numbers = header.version_strings().version.as_str().split('.').map(str::parse);
    Some(InterfaceVersion { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
}

fn ours() -> String {
    format!("{}.{}", INTERFACE.major, INTERFACE.minor)
}

fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// The checker tells a whole tree of types, up to 65 KB: the first difference says enough.
fn first_difference(report: &str) -> String {
    let about = report.lines().find_map(|line| line.strip_prefix("Error:")).unwrap_or("the layouts differ");
    // To the checker, the library is what is expected, for it is the older side.
    let differs =
        block(report, "Expected:").zip(block(report, "Found:")).find(|(theirs, ours)| theirs != ours);
    let text = match differs {
        Some((theirs, ours)) => format!("{about}, the mod has {theirs}, this cmd has {ours}"),
        None => about.to_owned(),
    };
    text.chars().take(300).collect()
}

/// The indented lines behind `head`.
fn block<'r>(report: &'r str, head: &str) -> impl Iterator<Item = &'r str> {
    let behind = report.lines().skip_while(move |line| *line != head).skip(1);
    behind.take_while(|line| line.starts_with(' ')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_difference_of_a_report_is_one_line() {
        let report = "Compared <this>:\n    type:A\n\n1 error(s)\nError:unexpected field\nExpected:\n    field_name:a\n    \
                      size:8\nFound:\n    field_name:b\n    size:4\n\nError:too many variants\n";
        let said = "unexpected field, the mod has field_name:a, this cmd has field_name:b";
        assert_eq!(first_difference(report), said);
        assert_eq!(first_difference("Error:no place\nmore"), "no place");
        assert_eq!(first_difference("something else"), "the layouts differ");
        assert_eq!(first_difference(&format!("Error:{}", "x".repeat(900))), "x".repeat(300));
    }
}
