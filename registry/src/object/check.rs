use super::{Format, Inspection, Metadata, Refusal};
use crate::version::MajorMinor;

/// What the host and its machine are. It comes in as a value, so that a test can be any machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// The interface version that the host implements.
    pub interface: MajorMinor,
    /// The Rust target triple of the host.
    pub target: String,
    /// The glibc that runs, where there is one.
    pub glibc: Option<MajorMinor>,
}

/// The libraries that every machine of a target has, by their names up to the version.
const SYSTEM_LIBRARIES: [&str; 9] =
    ["libc", "libm", "libdl", "libpthread", "librt", "libgcc_s", "ld-linux", "ld64", "ld-musl"];

/// Judges a library for this host, in a fixed order: machine, metadata, interface, target, panic strategy, glibc,
/// needed libraries, then what else a loader would do unasked.
///
/// # Errors
/// The first [`Refusal`] that applies.
pub fn check(inspection: &Inspection, host: &HostFacts) -> Result<Metadata, Refusal> {
    check_machine(inspection, &host.target)?;
    let metadata = metadata(inspection)?;
    check_interface(metadata.interface, host.interface)?;
    check_target(metadata, &host.target)?;
    check_panic(inspection, metadata)?;
    check_glibc(inspection.glibc_floor, host.glibc)?;
    check_linking(inspection)?;
    Ok(metadata.clone())
}

/// Judges whether a library is what a manifest declares it to be: built for `target`, and a mod at all. This is for
/// libraries that this machine will not load.
///
/// # Errors
/// The first [`Refusal`] that applies.
pub fn check_declared(inspection: &Inspection, target: &str) -> Result<Metadata, Refusal> {
    check_machine(inspection, target)?;
    let metadata = metadata(inspection)?;
    check_target(metadata, target)?;
    check_panic(inspection, metadata)?;
    check_linking(inspection)?;
    Ok(metadata.clone())
}

pub(crate) fn metadata(inspection: &Inspection) -> Result<&Metadata, Refusal> {
    match (&inspection.metadata, &inspection.metadata_problem) {
        (Some(metadata), _) => Ok(metadata),
        (None, Some(reason)) => Err(Refusal::Metadata { reason: reason.clone() }),
        (None, None) => Err(Refusal::NoMetadata),
    }
}

fn check_machine(inspection: &Inspection, target: &str) -> Result<(), Refusal> {
    let machine = target.split('-').next().unwrap_or(target);
    let format = format_of(target);
    if same_machine(&inspection.machine, machine) && inspection.format == format {
        return Ok(());
    }
    Err(Refusal::Machine {
        found: format!("{} {}", inspection.machine, inspection.format.name()),
        expected: format!("{machine} {}", format.name()),
    })
}

/// The file format that a target's loader takes.
fn format_of(target: &str) -> Format {
    if target.contains("-apple-") {
        Format::MachO
    } else if target.contains("-windows-") || target.ends_with("-cygwin") {
        Format::Pe
    } else {
        Format::Elf
    }
}

/// A triple tells more than a file header: `armv7`, `i586`, `riscv64gc`.
fn same_machine(found: &str, machine: &str) -> bool {
    match found {
        "i686" => matches!(machine, "i386" | "i586" | "i686"),
        "arm" => machine.starts_with("arm") || machine.starts_with("thumb"),
        "riscv64" | "riscv32" => machine.starts_with(found),
        other => other == machine,
    }
}

pub(crate) fn check_interface(found: MajorMinor, host: MajorMinor) -> Result<(), Refusal> {
    if found.0 != host.0 {
        return Err(Refusal::InterfaceMajor { found, host });
    }
    if found.1 > host.1 {
        return Err(Refusal::InterfaceMinor { found, host });
    }
    Ok(())
}

fn check_target(metadata: &Metadata, target: &str) -> Result<(), Refusal> {
    if metadata.target == target {
        return Ok(());
    }
    Err(Refusal::Target { found: metadata.target.clone(), expected: target.to_owned() })
}

fn check_panic(inspection: &Inspection, metadata: &Metadata) -> Result<(), Refusal> {
    if metadata.panic != "unwind" {
        return Err(Refusal::PanicAbort { found: metadata.panic.clone() });
    }
    if inspection.format == Format::Elf && !inspection.unwinds {
        return Err(Refusal::PanicAbort { found: "no unwind symbol".to_owned() });
    }
    Ok(())
}

pub(crate) fn check_glibc(found: Option<MajorMinor>, host: Option<MajorMinor>) -> Result<(), Refusal> {
    match (found, host) {
        (Some(found), Some(host)) if found > host => Err(Refusal::Glibc { found, host }),
        _ => Ok(()),
    }
}

/// What the loader would do on the library's behalf, beside loading it.
fn check_linking(inspection: &Inspection) -> Result<(), Refusal> {
    if let Some(library) = inspection.needed.iter().find(|library| !is_system_library(library)) {
        return Err(Refusal::Needed { library: library.clone() });
    }
    if let Some(tag) = inspection.search_path {
        return Err(Refusal::Rpath { tag });
    }
    if inspection.text_relocation {
        return Err(Refusal::TextRelocation);
    }
    if inspection.executable_stack {
        return Err(Refusal::ExecutableStack);
    }
    if inspection.static_tls {
        return Err(Refusal::StaticTls);
    }
    inspection.audit.map_or(Ok(()), |tag| Err(Refusal::Audit { tag }))
}

/// `libc.so.6`, `libc.musl-x86_64.so.1`, `ld-linux-x86-64.so.2`; a path is never one.
fn is_system_library(name: &str) -> bool {
    !name.contains('/')
        && SYSTEM_LIBRARIES.iter().any(|library| {
            name.strip_prefix(library).is_some_and(|rest| {
                rest.starts_with(".so")
                    || rest.starts_with(".musl-")
                    || (library.starts_with("ld") && rest.starts_with(['-', '.']))
            })
        })
}
