use super::{Inspection, Refusal};
use crate::version::{self, MajorMinor};
use object::{
    Object, elf,
    read::elf::{ElfFile, FileHeader, ProgramHeader, SectionTable},
};

/// The symbol that a library takes from the system when it unwinds.
const UNWIND: &[u8] = b"_Unwind_RaiseException";
/// This marker of packed relocations is understood from glibc 2.36 on.
const PACKED_RELOCATIONS: (&[u8], MajorMinor) = (b"GLIBC_ABI_DT_RELR", (2, 36));

/// Adds what ELF alone has.
pub(super) fn inspect(file: &object::File<'_>, inspection: &mut Inspection) -> Result<(), Refusal> {
    let read = match file {
        object::File::Elf32(file) => dynamic(file, inspection),
        object::File::Elf64(file) => dynamic(file, inspection),
        _ => return Ok(()),
    };
    match read {
        Ok(false) => Ok(()),
        Ok(true) => Err(Refusal::NotALibrary { found: "a program".to_owned() }),
        Err(error) => Err(Refusal::NotALibrary { found: format!("a damaged ELF file ({error})") }),
    }
}

/// Reads the dynamic section, the program headers and the symbol versions; true for a position-independent program,
/// which has the type of a shared library.
fn dynamic<Elf: FileHeader>(file: &ElfFile<'_, Elf>, found: &mut Inspection) -> object::Result<bool> {
    let endian = file.endian();
    let table = file.elf_dynamic_table()?;
    let mut program = false;
    for entry in table.iter() {
        match entry.tag {
            elf::DT_NEEDED => found.needed.push(String::from_utf8_lossy(table.string(entry)?).into_owned()),
            elf::DT_RPATH => found.search_path = Some("DT_RPATH"),
            elf::DT_RUNPATH => found.search_path = Some("DT_RUNPATH"),
            elf::DT_AUDIT => found.audit = Some("DT_AUDIT"),
            elf::DT_DEPAUDIT => found.audit = Some("DT_DEPAUDIT"),
            elf::DT_FILTER => found.audit = Some("DT_FILTER"),
            elf::DT_AUXILIARY => found.audit = Some("DT_AUXILIARY"),
            elf::DT_TEXTREL => found.text_relocation = true,
            elf::DT_FLAGS => {
                found.text_relocation |= has(entry.val, elf::DF_TEXTREL.0);
                found.static_tls |= has(entry.val, elf::DF_STATIC_TLS.0);
            }
            elf::DT_FLAGS_1 => program |= has(entry.val, elf::DF_1_PIE.0),
            _ => {}
        }
    }
    found.executable_stack = executable_stack(file.elf_program_headers(), endian);
    found.glibc_floor = glibc_floor(file.elf_section_table(), endian, file.data())?;
    found.unwinds = imports(file)?;
    Ok(program)
}

fn has(value: u64, flag: u64) -> bool {
    value & flag != 0
}

/// A library without the header that says otherwise gets an executable stack.
fn executable_stack<Header: ProgramHeader>(headers: &[Header], endian: Header::Endian) -> bool {
    headers
        .iter()
        .find(|header| header.p_type(endian) == elf::PT_GNU_STACK)
        .is_none_or(|header| header.p_flags(endian).contains(elf::PF_X))
}

/// The newest `GLIBC_x.y` among the symbol versions that are needed.
fn glibc_floor<'data, Elf: FileHeader>(
    sections: &SectionTable<'data, Elf>,
    endian: Elf::Endian,
    data: &'data [u8],
) -> object::Result<Option<MajorMinor>> {
    let Some((mut libraries, link)) = sections.gnu_verneed(endian, data)? else {
        return Ok(None);
    };
    let strings = sections.strings(endian, data, link)?;
    let mut floor = None;
    while let Some((_, mut versions)) = libraries.next()? {
        while let Some(needed) = versions.next()? {
            floor = floor.max(glibc_version(needed.name(endian, strings)?));
        }
    }
    Ok(floor)
}

/// `GLIBC_2.34` and `GLIBC_2.2.5`; `GLIBC_PRIVATE` and other libraries' versions are nothing.
fn glibc_version(name: &[u8]) -> Option<MajorMinor> {
    if name == PACKED_RELOCATIONS.0 {
        return Some(PACKED_RELOCATIONS.1);
    }
    let text = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?;
    let mut numbers = text.splitn(3, '.');
    version::parse(&format!("{}.{}", numbers.next()?, numbers.next()?))
}

fn imports<Elf: FileHeader>(file: &ElfFile<'_, Elf>) -> object::Result<bool> {
    use object::ObjectSymbol;
    Ok(file
        .dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && symbol.name_bytes().is_ok_and(|name| name == UNWIND)))
}
