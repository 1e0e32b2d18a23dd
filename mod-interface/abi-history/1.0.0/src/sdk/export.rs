use async_ffi::FfiFuture;

use super::{ModApi, Result, entry::Call, runtime::RuntimeHandle};
use crate::abi::{Completed, Frame, Pending, silence_panics};

/// Runs a factory. For the expansion of [`crate::export_mod!`].
pub fn start<F, Fut>(frame: Frame, factory: F, runtime: RuntimeHandle) -> FfiFuture<Completed>
where
    F: FnOnce(ModApi) -> Fut + Send + 'static,
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    silence_panics();
    let api = ModApi::new(frame, runtime.clone());
    // The factory is called at the first poll, and so under the guard.
    let call = Call::of(Some(async move { factory(api).await }), runtime);
    FfiFuture::new(Pending::new(Box::new(call)))
}

/// Makes the library a mod: exports its root module, and the metadata that is read before it is loaded.
///
/// The argument is the factory, an `async fn(ModApi) -> Result<()>`. The mod's name is the package's,
/// `_` read as `-`; its version is the package's. With `export_mod!(factory, runtime)` (feature
/// `runtime`) the mod's code runs inside a tokio runtime of its own.
///
/// The crate must be a `cdylib` and unwind on panic.
#[macro_export]
macro_rules! export_mod {
    ($factory:path) => {
        $crate::export_mod!(@export $factory, $crate::__private::RuntimeHandle::none());
    };
    ($factory:path, runtime) => {
        $crate::export_mod!(@export $factory, $crate::__private::RuntimeHandle::lazy());
    };
    (@export $factory:path, $runtime:expr) => {
        #[cfg(panic = "abort")]
        compile_error!("a mod must unwind on panic: remove `panic = \"abort\"` from the profile");

        const _: () = {
            use $crate::__private as cmd;

            const PACKAGE: &str = env!("CARGO_PKG_NAME");
            const NAME: &str = cmd::text(&cmd::dashed::<{ PACKAGE.len() }>(PACKAGE));
            const VERSION: &str = env!("CARGO_PKG_VERSION");
            const PARTS: &[&str] = &cmd::metadata_parts(NAME, VERSION);

            #[used]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__cmdmod"))]
            #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".cmdmod"))]
            static METADATA: [u8; cmd::joined_len(PARTS)] = cmd::join(PARTS);

            extern "C" fn __register(frame: cmd::Frame) -> cmd::FfiFuture<cmd::Completed> {
                cmd::start(frame, $factory, $runtime)
            }

            struct Library;

            impl cmd::Exported for Library {
                const ROOT: &'static cmd::WithMetadata<cmd::ModRoot> =
                    &cmd::WithMetadata::new(cmd::mod_root(NAME, VERSION, __register));
            }

            // The name that abi_stable gives the header of a library with a root module.
            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            static HEADER: cmd::LibHeader = cmd::header::<Library>();
        };
    };
}

/// Gives the root module of a mod that is compiled into the program: `builtin_mod!("name", factory)`.
#[macro_export]
macro_rules! builtin_mod {
    ($name:expr, $factory:path) => {{
        use $crate::__private as cmd;

        extern "C" fn __register(frame: cmd::Frame) -> cmd::FfiFuture<cmd::Completed> {
            cmd::start(frame, $factory, cmd::RuntimeHandle::none())
        }

        const ROOT: &cmd::WithMetadata<cmd::ModRoot> =
            &cmd::WithMetadata::new(cmd::mod_root($name, env!("CARGO_PKG_VERSION"), __register));

        cmd::ModRootRef(ROOT.static_as_prefix())
    }};
}
