use crate::version::{MajorMinor, show};

/// Why a library is not loaded. Each has a stable code, and a message of one line: got, expected, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not a shared library of any system.
    #[error(
        "not a shared library, expected the .so, .dylib or .dll of a crate with crate-type = [\"cdylib\"], got: {found}"
    )]
    NotALibrary {
        /// What it is instead.
        found: String,
    },
    /// For another processor or system.
    #[error("built for another machine, install a build for this one, expected {expected}, got: {found}")]
    Machine {
        /// Processor and format of the file.
        found: String,
        /// Processor and format of this machine.
        expected: String,
    },
    /// No metadata section.
    #[error("a shared library, but not a mod: it has no .cmdmod section, export the mod with export_mod!")]
    NoMetadata,
    /// A metadata section that cannot be read.
    #[error(
        "the .cmdmod section cannot be read, rebuild the mod with a current mod-interface, or update cmd: {reason}"
    )]
    Metadata {
        /// What is wrong with it.
        reason: String,
    },
    /// Built for another major version of the interface.
    #[error("built for another major version of the interface, rebuild the mod or update it (cmd mods update --latest), expected {}.x, got: {}", host.0, show(*found))]
    InterfaceMajor {
        /// The mod's.
        found: MajorMinor,
        /// This host's.
        host: MajorMinor,
    },
    /// Built for a newer minor version of the interface.
    #[error("needs a newer cmd: built for a newer interface, update cmd or install an older version of the mod, expected at most {}, got: {}", show(*host), show(*found))]
    InterfaceMinor {
        /// The mod's.
        found: MajorMinor,
        /// This host's.
        host: MajorMinor,
    },
    /// The target triple differs.
    #[error("built for another target, install a build for this one, expected {expected}, got: {found}")]
    Target {
        /// The mod's.
        found: String,
        /// This machine's.
        expected: String,
    },
    /// Built with `panic = "abort"`: a panic in it would end the whole program.
    #[error(
        "built so that a panic ends the whole program, remove panic = \"abort\" from the profile and rebuild, expected unwind, got: {found}"
    )]
    PanicAbort {
        /// What shows it.
        found: String,
    },
    /// Needs a newer glibc than this machine has.
    #[error("needs a newer glibc, build it on an older system or update this one, expected at most {}, got: {}", show(*host), show(*found))]
    Glibc {
        /// The newest symbol version it needs.
        found: MajorMinor,
        /// This machine's.
        host: MajorMinor,
    },
    /// Needs a library that not every machine has.
    #[error(
        "needs a shared library beside those of the system, link it statically, expected the C library and libgcc_s only, got: {library}"
    )]
    Needed {
        /// The library's name.
        library: String,
    },
    /// Has a search path for libraries of its own.
    #[error("has a library search path of its own, link it without -rpath, got: {tag}")]
    Rpath {
        /// `DT_RPATH` or `DT_RUNPATH`.
        tag: &'static str,
    },
    /// Has relocations in its code.
    #[error("has relocations in its code (DT_TEXTREL), rebuild it as position-independent code")]
    TextRelocation,
    /// Wants an executable stack.
    #[error("wants an executable stack, link it with -z noexecstack")]
    ExecutableStack,
    /// Uses static thread-local storage, which runs out when libraries are loaded late.
    #[error(
        "uses static thread-local storage (DF_STATIC_TLS), rebuild it with -C tls-model=global-dynamic or without initial-exec C code"
    )]
    StaticTls,
    /// Makes the loader load another library to watch or filter it.
    #[error("makes the loader load an audit or filter library, link it without it, got: {tag}")]
    Audit {
        /// The tag in the dynamic section.
        tag: &'static str,
    },
}

impl Refusal {
    /// The stable code, for people to search for and programs to tell apart.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotALibrary { .. } => "E_NOT_A_LIBRARY",
            Self::Machine { .. } => "E_MACHINE",
            Self::NoMetadata => "E_NO_METADATA",
            Self::Metadata { .. } => "E_METADATA",
            Self::InterfaceMajor { .. } => "E_INTERFACE_MAJOR",
            Self::InterfaceMinor { .. } => "E_INTERFACE_MINOR",
            Self::Target { .. } => "E_TARGET",
            Self::PanicAbort { .. } => "E_PANIC_ABORT",
            Self::Glibc { .. } => "E_GLIBC",
            Self::Needed { .. } => "E_NEEDED",
            Self::Rpath { .. } => "E_RPATH",
            Self::TextRelocation => "E_TEXTREL",
            Self::ExecutableStack => "E_EXEC_STACK",
            Self::StaticTls => "E_STATIC_TLS",
            Self::Audit { .. } => "E_AUDIT",
        }
    }
}
