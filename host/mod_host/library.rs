//! From a file to code: the bytes that are hashed are the bytes that run.
//!
//! On Linux the file is copied into a memory file, which is then sealed: nobody can change it any
//! more, whatever happens to the file. What is hashed and checked is that memory, and what is
//! loaded is that very memory file. Its descriptor stays open for ever: the loader tells libraries apart
//! by name, and a number that is used again would give the first library once more. No library is ever
//! unloaded: threads, timers and drop code of a mod may outlive every use that we know of.
//!
//! Elsewhere the copy is a file in a folder that only this user can enter, hashed through the open
//! handle. macOS and Windows are written from their documentation and were not run.
#![allow(unsafe_code)]

use std::{
    error::Error as _,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use libloading::Library;
use sha2::{Digest, Sha256};

use super::{LoadError, LoadSteps, steps::timed};
use crate::files;

/// No mod is larger than this.
const MAX_BYTES: u64 = 256 << 20;

/// The bytes of a library, where nobody can change them.
pub(crate) struct Sealed {
    /// The bytes, for the checks that come before loading.
    pub(crate) bytes: Bytes,
    /// Their SHA-256, in lower-case hex.
    pub(crate) sha256: String,
    /// How long that took.
    pub(crate) steps: LoadSteps,
    path: PathBuf,
    place: Place,
}

impl Sealed {
    /// Copies the file at `path` to where nobody can change it.
    pub(crate) fn copy(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |error| LoadError::Unreadable { path: path.to_owned(), error };
        let source = files::open(path).map_err(unreadable)?;
        let length = source.metadata().map_err(unreadable)?.len();
        if length > MAX_BYTES {
            return Err(LoadError::TooBig { path: path.to_owned(), got: length, most: MAX_BYTES });
        }
        let mut steps = LoadSteps::default();
        let (place, bytes) = timed(&mut steps.read, || Place::fill(source.take(MAX_BYTES), path))
            .map_err(|error| LoadError::CannotSeal { path: path.to_owned(), error })?;
        let sha256 = timed(&mut steps.hash, || hex(&Sha256::digest(&*bytes)));
        Ok(Self { bytes, sha256, steps, path: path.to_owned(), place })
    }

    /// Runs the library's constructors and gives it, for ever.
    pub(crate) fn load(self) -> Result<Library, LoadError> {
        let path = self.path;
        drop(self.bytes);
        self.place.load().map_err(|error| LoadError::CannotLoad { path, error: said(&error) })
    }
}

/// What the system's loader says, without the name that the library has while it is loaded.
fn said(error: &libloading::Error) -> String {
    let said = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    match said.split_once(": ") {
        Some((name, reason)) if name.starts_with("/proc/self/fd/") => reason.to_owned(),
        _ => said,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(not(target_os = "linux"))]
type Bytes = Vec<u8>;

/// The memory of a sealed file, where it is: it is not copied to be looked at.
#[cfg(target_os = "linux")]
pub(crate) struct Bytes {
    start: *mut std::ffi::c_void,
    length: usize,
}

// SAFETY: it is memory that nobody writes to, and that belongs to no thread.
#[cfg(target_os = "linux")]
unsafe impl Send for Bytes {}

#[cfg(target_os = "linux")]
impl Bytes {
    /// Of a file that is sealed, so that its bytes stay what they are and where they are.
    fn of(sealed: &File) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};

        let length = usize::try_from(sealed.metadata()?.len()).map_err(io::Error::other)?;
        let start = std::ptr::null_mut();
        if length == 0 {
            return Ok(Self { start, length });
        }
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let start = unsafe { mmap(start, length, ProtFlags::READ, MapFlags::PRIVATE, sealed, 0) }?;
        Ok(Self { start, length })
    }
}

#[cfg(target_os = "linux")]
impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the mapping has that length and lives as long as `self`; the file behind it is sealed, so nobody can
        // write to it or cut it off.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Bytes {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: the mapping is this value's, and no slice of it is left. Should it stay, it costs an address.
            let _ = unsafe { rustix::mm::munmap(self.start, self.length) };
        }
    }
}

#[cfg(target_os = "linux")]
struct Place(File);

#[cfg(target_os = "linux")]
impl Place {
    fn fill(mut source: impl Read, path: &Path) -> io::Result<(Self, Bytes)> {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

        let name = path.file_name().unwrap_or_default();
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know the flag; later ones may insist on it.
        let memory =
            memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| memfd_create(name, flags))?;
        let mut memory = File::from(memory);
        io::copy(&mut source, &mut memory)?;
        fcntl_add_seals(&memory, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let bytes = Bytes::of(&memory)?;
        Ok((Self(memory), bytes))
    }

    fn load(self) -> Result<Library, libloading::Error> {
        use std::os::fd::IntoRawFd;

        let path = format!("/proc/self/fd/{}", self.0.into_raw_fd());
        open(Path::new(&path))
    }
}

/// A private copy: `dir` is this user's alone, and is left in place with the library.
#[cfg(not(target_os = "linux"))]
struct Place {
    path: PathBuf,
    // Windows: held without sharing for writing, from before the hash until after the load.
    _file: File,
}

#[cfg(not(target_os = "linux"))]
impl Place {
    fn fill(mut source: impl Read, path: &Path) -> io::Result<(Self, Bytes)> {
        use std::io::Write;

        let dir = tempfile::Builder::new().prefix("cmd-mod-").tempdir()?.keep();
        let copy = dir.join(path.file_name().unwrap_or_default());
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes)?;
        let mut writer = File::create_new(&copy)?;
        writer.write_all(&bytes)?;
        writer.sync_all()?;
        drop(writer);
        let mut file = open_unshared(&copy)?;
        let mut read_back = Vec::new();
        file.read_to_end(&mut read_back)?;
        Ok((Self { path: copy, _file: file }, read_back))
    }

    fn load(self) -> Result<Library, libloading::Error> {
        open(&self.path)
    }
}

#[cfg(windows)]
fn open_unshared(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_SHARE_READ: u32 = 1;
    File::options().read(true).share_mode(FILE_SHARE_READ).open(path)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn open_unshared(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn open(path: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: the library's constructors run here. It was checked to be a mod of this interface, and
    // its bytes are the ones that were hashed; that its code is sound is what the user vouches for.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
}

#[cfg(windows)]
fn open(path: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::windows::{LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR, LOAD_LIBRARY_SEARCH_SYSTEM32, Library};
    let flags = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32;
    // SAFETY: as on Unix.
    unsafe { Library::load_with_flags(path, flags) }.map(Into::into)
}

/// The version of the glibc that runs here; `None` where there is none.
#[cfg(target_env = "gnu")]
pub(crate) fn glibc_version() -> Option<(u32, u32)> {
    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const std::ffi::c_char;
    }
    // SAFETY: glibc gives a static text that ends with a zero.
    let version = unsafe { std::ffi::CStr::from_ptr(gnu_get_libc_version()) };
    let mut numbers = version.to_str().ok()?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The version of the glibc that runs here; `None` where there is none.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn glibc_version() -> Option<(u32, u32)> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{fs, io::Write, os::fd::AsRawFd, path::Path, process::Command};

    use super::Sealed;

    #[test]
    fn what_was_sealed_stays_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lib.so");
        fs::write(&path, b"first").unwrap();
        let sealed = Sealed::copy(&path).unwrap();
        fs::write(&path, b"other").unwrap();
        assert_eq!(*sealed.bytes, *b"first");
        assert_eq!(sealed.sha256, "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e");

        let reopened = format!("/proc/self/fd/{}", sealed.place.0.as_raw_fd());
        assert!(
            fs::OpenOptions::new()
                .write(true)
                .open(reopened)
                .and_then(|mut file| file.write_all(b"x"))
                .is_err()
        );
        assert!(sealed.place.0.set_len(0).is_err());
    }

    /// A library with one function that gives a number.
    fn numbered(dir: &Path, number: u32) {
        fs::write(dir.join("numbered.c"), format!("int number(void) {{ return {number}; }}")).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "numbered.c", "-o", "numbered.so"])
            .current_dir(dir)
            .status();
        assert!(built.unwrap().success());
    }

    /// The loader knows libraries by name, which is that of a descriptor here: it must not come again.
    #[test]
    fn a_library_is_never_taken_for_one_that_was_loaded_before() {
        let dir = tempfile::tempdir().unwrap();
        for number in 1..4 {
            numbered(dir.path(), number);
            let library = Sealed::copy(&dir.path().join("numbered.so")).unwrap().load().unwrap();
            // SAFETY: the function has that signature.
            let function = unsafe { library.get::<extern "C" fn() -> u32>(b"number\0") };
            assert_eq!(function.unwrap()(), number);
            // Looked at, not only used: another test may take a number that was given back first.
            let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
            let open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
            let sealed = open.filter(|file| file.to_string_lossy().starts_with("/memfd:numbered.so"));
            assert_eq!(sealed.count(), number as usize, "each descriptor stays open");
            std::mem::forget(library);
        }
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe.so");
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let refused = Sealed::copy(&path).err().unwrap().to_string();
        assert_eq!(
            refused,
            format!(
                "cannot read the library, check its path and who may read it: expected a file, got a named pipe: {}",
                path.display()
            )
        );
    }
}
