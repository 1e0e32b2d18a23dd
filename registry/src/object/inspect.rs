use super::{Metadata, Refusal, elf};
use crate::version::MajorMinor;
use object::{FileKind, Object, ObjectKind, ObjectSection};

/// The file format of a library, which tells the system it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Linux and most Unix systems.
    Elf,
    /// macOS.
    MachO,
    /// Windows.
    Pe,
}

impl Format {
    /// The name that people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Elf => "ELF",
            Self::MachO => "Mach-O",
            Self::Pe => "PE",
        }
    }
}

/// What the bytes of a shared library say. For Mach-O and PE only the first four are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The file format.
    pub format: Format,
    /// The processor, as a Rust target names it: `x86_64`, `aarch64`.
    pub machine: String,
    /// What the mod says about itself.
    pub metadata: Option<Metadata>,
    /// Why there is a metadata section but no [`Metadata`].
    pub metadata_problem: Option<String>,
    /// The libraries it needs.
    pub needed: Vec<String>,
    /// `DT_RPATH` or `DT_RUNPATH`, when it has one.
    pub search_path: Option<&'static str>,
    /// A tag that makes the loader load an audit or filter library.
    pub audit: Option<&'static str>,
    /// Has relocations in its code.
    pub text_relocation: bool,
    /// Wants an executable stack.
    pub executable_stack: bool,
    /// Uses static thread-local storage.
    pub static_tls: bool,
    /// The newest glibc whose symbols it needs.
    pub glibc_floor: Option<MajorMinor>,
    /// Takes the unwinder from the system, which a library built with `panic = "abort"` does not.
    pub unwinds: bool,
}

/// Reads what a library says, without running any of it.
///
/// # Errors
/// [`Refusal::NotALibrary`] for everything that is not a shared library: a text, an object file, a program, a
/// truncated file.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Refusal> {
    let not_a_library = |found: &str| Refusal::NotALibrary { found: found.to_owned() };
    let kind = FileKind::parse(bytes).map_err(|_| not_a_library(describe(bytes)))?;
    let format = match kind {
        FileKind::Elf32 | FileKind::Elf64 => Format::Elf,
        FileKind::MachO32 | FileKind::MachO64 => Format::MachO,
        FileKind::Pe32 | FileKind::Pe64 => Format::Pe,
        FileKind::MachOFat32 | FileKind::MachOFat64 => {
            return Err(not_a_library("a universal file, split it with lipo -thin, one artifact a target"));
        }
        FileKind::Archive => return Err(not_a_library("a static library")),
        _ => return Err(not_a_library("another kind of object file")),
    };
    let damaged =
        |error: object::Error| not_a_library(&format!("a damaged {} file ({error})", format.name()));
    let file = object::File::parse(bytes).map_err(damaged)?;
    match file.kind() {
        ObjectKind::Dynamic => {}
        ObjectKind::Executable => return Err(not_a_library("a program")),
        _ => return Err(not_a_library("an object file that is not linked")),
    }
    let mut inspection = common(format, &file).map_err(damaged)?;
    if format == Format::Elf {
        elf::inspect(&file, &mut inspection)?;
    }
    Ok(inspection)
}

/// What all formats have.
fn common(format: Format, file: &object::File<'_>) -> Result<Inspection, object::Error> {
    let name = if format == Format::MachO { "__cmdmod" } else { ".cmdmod" };
    let section = file.section_by_name(name).map(|section| section.data()).transpose()?;
    let (metadata, metadata_problem) = match section.map(Metadata::parse) {
        None => (None, None),
        Some(Ok(metadata)) => (Some(metadata), None),
        Some(Err(problem)) => (None, Some(problem)),
    };
    Ok(Inspection {
        format,
        machine: machine(file),
        metadata,
        metadata_problem,
        needed: Vec::new(),
        search_path: None,
        audit: None,
        text_relocation: false,
        executable_stack: false,
        static_tls: false,
        glibc_floor: None,
        unwinds: false,
    })
}

/// The processor in the words of a target triple.
fn machine(file: &object::File<'_>) -> String {
    use object::Architecture as A;
    let little = file.is_little_endian();
    let name = match file.architecture() {
        A::X86_64 => "x86_64",
        A::X86_64_X32 => "x86_64 (x32)",
        A::I386 => "i686",
        A::Aarch64 if little => "aarch64",
        A::Arm => "arm",
        A::Riscv64 => "riscv64",
        A::Riscv32 => "riscv32",
        A::PowerPc64 if little => "powerpc64le",
        A::PowerPc64 => "powerpc64",
        A::S390x => "s390x",
        A::LoongArch64 => "loongarch64",
        other => return format!("{other:?}").to_lowercase(),
    };
    name.to_owned()
}

/// What a file that no loader knows most likely is.
fn describe(bytes: &[u8]) -> &'static str {
    match bytes {
        [] => "an empty file",
        [0x1f, 0x8b, ..] => "a gzip archive, install it with cmd mods add",
        [b'P', b'K', ..] => "a zip archive",
        [b'#', b'!', ..] => "a script",
        _ if std::str::from_utf8(&bytes[..bytes.len().min(512)]).is_ok() => "a text file",
        _ => "an unknown kind of file",
    }
}
