use abi_stable::{
    StableAbi, declare_root_module_statics,
    library::{__call_root_module_loader, CheckTypeLayout, LibHeader, RootModule, RootModuleResult},
    package_version_strings,
    prefix_type::WithMetadata,
    sabi_types::VersionStrings,
    std_types::RStr,
};
use async_ffi::FfiFuture;

use super::{Completed, Frame};

/// The interface version that a mod was built against.
#[repr(C)]
#[derive(StableAbi, Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceVersion {
    /// Equal on both sides, or the mod is refused.
    pub major: u32,
    /// At most the host's, or the mod is refused.
    pub minor: u32,
}

/// The version of this crate's interface.
pub const INTERFACE: InterfaceVersion = InterfaceVersion {
    major: number(env!("CARGO_PKG_VERSION_MAJOR")),
    minor: number(env!("CARGO_PKG_VERSION_MINOR")),
};

/// The target that this crate was built for.
pub const TARGET: &str = env!("MOD_INTERFACE_TARGET");

const fn number(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let mut value = 0;
    let mut at = 0;
    while at < bytes.len() {
        value = value * 10 + (bytes[at] - b'0') as u32;
        at += 1;
    }
    value
}

/// What a mod exports. Made by `export_mod!` alone, so that later fields are no break for authors.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = ModRootRef, prefix_fields = ModRootFields)))]
#[sabi(missing_field(option))]
pub struct ModRoot {
    /// The interface that it was built against.
    pub interface: InterfaceVersion,
    /// Its name, as in its manifest.
    pub name: RStr<'static>,
    /// Its version, as in its manifest.
    pub version: RStr<'static>,
    /// Runs the factory. The frame is the mod's own for as long as it likes.
    #[sabi(last_prefix_field)]
    pub register: extern "C" fn(Frame) -> FfiFuture<Completed>,
}

impl RootModule for ModRootRef {
    declare_root_module_statics! { ModRootRef }
    const BASE_NAME: &'static str = "cmd_mod";
    const NAME: &'static str = "cmd_mod";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}

/// A root module, for `export_mod!` and `builtin_mod!`.
#[doc(hidden)]
pub const fn mod_root(
    name: &'static str,
    version: &'static str,
    register: extern "C" fn(Frame) -> FfiFuture<Completed>,
) -> ModRoot {
    ModRoot { interface: INTERFACE, name: RStr::from_str(name), version: RStr::from_str(version), register }
}

/// Where a library has its root module, for `export_mod!` alone.
#[doc(hidden)]
pub trait Exported {
    const ROOT: &'static WithMetadata<ModRoot>;
}

/// The header of a library, for `export_mod!` alone.
#[doc(hidden)]
pub const fn header<E: Exported>() -> LibHeader {
    // SAFETY: the function gives a `ModRootRef`, whatever `E` is.
    unsafe { LibHeader::from_constructor::<ModRootRef>(load::<E>, CheckTypeLayout::Yes) }
}

extern "C" fn load<E: Exported>() -> RootModuleResult {
    __call_root_module_loader(|| ModRootRef(E::ROOT.static_as_prefix()))
}
