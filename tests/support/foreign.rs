//! Hosts that know another interface than today's: each loads a mod's library and asks its hooks.
#![expect(unsafe_code, reason = "reads the root module of a library")]

/// Makes a host that knows `$interface` alone.
macro_rules! host_of {
    ($name:ident = $interface:ident) => {
        pub(crate) mod $name {
            use std::{
                path::Path,
                sync::{Arc, Mutex},
            };

            use $interface::{
                abi::{
                    Callable, FrameHost, HookObject, INTERFACE, InterfaceVersion, JsonField, ModRootRef,
                    NumberField, OwnFrame, Reply, Status, TextField, decode_outcome,
                },
                types::{Hook, Message},
            };
            use abi_stable::{
                StableAbi,
                abi_stability::abi_checking::{CheckingGlobals, check_layout_compatibility_with_globals},
                library::{AbiHeaderRef, ROOT_MODULE_LOADER_NAME_WITH_NUL},
                std_types::{RErr, RResult, RString},
            };
            use async_ffi::FfiFuture;
            use serde_json::{Value, json};

            /// A mod that was loaded.
            pub(crate) struct Mod {
                frame: OwnFrame<Asks>,
                seen: Arc<Seen>,
            }

            /// What a mod registered and raised.
            #[derive(Default)]
            struct Seen {
                hooks: Mutex<Vec<HookObject>>,
                events: Mutex<Vec<String>>,
            }

            /// Asks about a session of one message, in which everything is known.
            struct Asks {
                does: String,
                message: Message,
                seen: Arc<Seen>,
            }

            impl FrameHost for Asks {
                fn text(&self, field: TextField) -> &str {
                    match field {
                        TextField::ModName => "behaving-a",
                        TextField::ToolCallId => "c1",
                        TextField::LastAssistantText => "said",
                        TextField::Prompt => "typed",
                        TextField::Reason => "startup",
                        _ => "",
                    }
                }

                fn number(&self, field: NumberField) -> u64 {
                    matches!(field, NumberField::TurnNumber | NumberField::MessageCount).into()
                }

                fn message(&self, index: usize) -> Option<&Message> {
                    (index == 0).then_some(&self.message)
                }

                fn json(&self, field: JsonField, _: usize) -> Option<String> {
                    let json = match field {
                        JsonField::ModState => json!(1),
                        JsonField::ToolContent => json!([{ "type": "text", "text": "x" }]),
                        JsonField::RunResult => {
                            json!({ "finalText": "t", "stopReason": "end_turn", "turnCount": 1, "usage": {} })
                        }
                        _ => return None,
                    };
                    Some(json.to_string())
                }

                fn call_now(&self, service: &str, args: &str) -> Result<String, String> {
                    let args: Value = serde_json::from_str(args).unwrap();
                    match service {
                        "flag" if args["name"] == "does" => return Ok(json!(self.does).to_string()),
                        "emit" => self.seen.events.lock().unwrap().push(args.to_string()),
                        _ => return Err(format!("no such service: {service}")),
                    }
                    Ok("null".to_owned())
                }

                fn call(&self, _: &str, _: &str) -> FfiFuture<RResult<RString, RString>> {
                    FfiFuture::new(std::future::ready(RErr("no such service".into())))
                }

                fn add(&self, kind: &str, _: &str, _: Callable) -> Result<u64, String> {
                    Err(format!("nothing of that kind: {kind}"))
                }

                fn add_hooks(&self, _: &str, hooks: HookObject) -> Result<u64, String> {
                    self.seen.hooks.lock().unwrap().push(hooks);
                    Ok(1)
                }
            }

            /// The root module of a library whose layout fits, the older of both being the interface.
            fn root(path: &Path) -> (ModRootRef, InterfaceVersion) {
                // SAFETY: a mod of this build; its constructors do nothing.
                let library = Box::leak(Box::new(unsafe { libloading::Library::new(path) }.unwrap()));
                // SAFETY: the header that `export_mod!` put there under that name.
                let header = *unsafe {
                    library.get::<AbiHeaderRef>(ROOT_MODULE_LOADER_NAME_WITH_NUL.as_bytes()).unwrap()
                };
                let header = header.upgrade().unwrap();
                let version = header.version_strings().version.as_str();
                let minor = version.split('.').nth(1).unwrap().parse().unwrap();
                let (theirs, ours) = (header.layout().unwrap(), <ModRootRef as StableAbi>::LAYOUT);
                let (older, newer) = if minor <= INTERFACE.minor { (theirs, ours) } else { (ours, theirs) };
                check_layout_compatibility_with_globals(older, newer, &CheckingGlobals::new()).unwrap();
                // SAFETY: the layout was just proven to fit.
                let root = unsafe { header.unchecked_layout::<ModRootRef>() }.unwrap();
                (root, InterfaceVersion { major: INTERFACE.major, minor })
            }

            impl Mod {
                /// Loads the library, and runs its factory with the option `does`.
                pub(crate) async fn load(path: &Path, does: &str) -> Self {
                    let (root, version) = root(path);
                    assert_eq!(root.interface(), version);
                    let seen = Arc::<Seen>::default();
                    let (does, message) = (does.to_owned(), Message::user("go"));
                    let frame = OwnFrame::new(Asks { does, message, seen: Arc::clone(&seen) });
                    let completed = root.register()(frame.frame().clone()).await;
                    assert_eq!(completed.status, Status::Ready as u32, "{}", completed.fault_text());
                    Self { frame, seen }
                }

                /// What it answers at the hook of that name, and the events that it raised.
                pub(crate) async fn ask(&self, hook: &str) -> String {
                    let hook = Hook::ALL.into_iter().find(|it| it.wire_name() == hook).unwrap();
                    let objects = self.seen.hooks.lock().unwrap().clone();
                    let [object] = &objects[..] else { panic!("{} sets of hooks", objects.len()) };
                    assert!(object.hooks().contains(hook));
                    let mut reply = Reply::default();
                    let completed = match object.call(hook, self.frame.frame(), &mut reply) {
                        1 => reply.pending.unwrap().await,
                        _ => reply.completed,
                    };
                    assert_eq!(completed.status, Status::Ready as u32, "{}", completed.fault_text());
                    let answer = decode_outcome(hook, &completed.answer).unwrap();
                    let events = std::mem::take(&mut *self.seen.events.lock().unwrap());
                    format!("{answer:?} {events:?}")
                }

                /// The hooks that it has.
                pub(crate) fn hooks(&self) -> Vec<HookObject> {
                    self.seen.hooks.lock().unwrap().clone()
                }
            }
        }
    };
}

host_of!(host_1_0_0 = v1_0_0);
host_of!(host_1_1 = v1_1);
