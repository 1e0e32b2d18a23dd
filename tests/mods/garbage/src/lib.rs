//! Answers what no SDK lets a mod answer: `--mod-option garbage.how=<how>`, at the hook that `garbage.at` names,
//! or as a tool that is called `garbage`, at `tool`.

use mod_interface::{
    __private as cmd,
    abi::{Answer, Callable, Completed, Entry, Flags, Frame, HookObject, Reply, Status, Texts},
    types::Hook,
};

/// Larger than any answer may be.
const LARGE: usize = 100 << 20;

/// Deeper than any answer may be, and so deep that who reads it one in another overflows.
const DEEP: usize = 1_000_000;

/// An entry that answers this.
#[derive(Clone)]
struct Garbage(String);

impl Entry for Garbage {
    fn call(&self, _: &Frame, reply: &mut Reply) -> u32 {
        let answer = |flags, put: &dyn Fn(&mut Texts)| Answer::default().announce(flags, put);
        let all = |text: &str| {
            answer(!(Flags::BLOCK | Flags::HANDLED), &|texts| {
                *texts = Texts {
                    text: text.into(),
                    json: text.into(),
                    state: text.into(),
                    extension: text.into(),
                };
            })
        };
        let json = |json: &str| answer(Flags::SOME | Flags::JSON, &|texts| texts.json = json.into());
        let state = |state: &str| answer(Flags::SOME | Flags::STATE, &|texts| texts.state = state.into());
        let edit = |message: &str| json(&format!(r#"[{{"op":"append","message":{message}}}]"#));
        reply.completed.answer = match self.0.as_str() {
            "no-such-status" => return 77,
            "pending-without-a-future" => return Status::Pending as u32,
            "large-fault" => {
                reply.completed = Completed::fault(Status::Failed, &"x".repeat(LARGE / 100));
                return Status::Failed as u32;
            }
            "large" => json(&"x".repeat(LARGE)),
            "large-text" => answer(Flags::SOME | Flags::TEXT | Flags::GO_ON, &|texts| {
                texts.text = "x".repeat(LARGE).into();
            }),
            "deep" => all(&"[".repeat(DEEP)),
            "too-deep" => all(&format!("{}{}", "[".repeat(100), "]".repeat(100))),
            "no-json" => all("}{"),
            "empty" => all(""),
            "another-type" => all(r#"{"surprise":[1]}"#),
            "bad-role" => edit(r#"{"role":"system","content":[{"type":"text","text":"t"}]}"#),
            "unknown-block" => edit(r#"{"role":"user","content":[{"type":"hologram"}]}"#),
            "unknown-result" => json(r#"[{"type":"hologram"}]"#),
            "misplaced-block" => {
                edit(r#"{"role":"user","content":[{"type":"tool_use","id":"i","name":"n","input":{}}]}"#)
            }
            "misplaced-result" => json(r#"[{"type":"tool_use","id":"i","name":"n","input":{}}]"#),
            "out-of-range" => json(r#"[{"op":"remove","start":0,"end":99}]"#),
            "no-such-model" => json(r#"{"model":"nobody/knows"}"#),
            "too-deep-state" => state(&format!("{}{}", "[".repeat(100), "]".repeat(100))),
            "other-session" => state(r#"{"sessionId":"other","messages":[],"modState":{"mod:x":1}}"#),
            _ => Answer::default(),
        };
        Status::Ready as u32
    }
}

fn flag(frame: &Frame, name: &str) -> String {
    let value = frame.call_now("flag", &format!(r#"{{"name":"{name}"}}"#)).unwrap_or_default();
    value.trim_matches('"').to_owned()
}

fn add(frame: &Frame) -> Result<u64, String> {
    let (at, garbage) = (flag(frame, "at"), Box::new(Garbage(flag(frame, "how"))));
    if at == "tool" {
        let spec = r#"{"name":"garbage","description":"","input_schema":{"type":"object"},"read_only":true}"#;
        return frame.add("tool", spec, Callable::new(garbage));
    }
    match Hook::ALL.into_iter().find(|hook| hook.wire_name() == at) {
        Some(hook) => frame.add_hooks("{}", HookObject::new([(hook, garbage as Box<dyn Entry>)])),
        None => Err(format!("no such place: {at}")),
    }
}

extern "C" fn register(frame: cmd::Frame) -> cmd::FfiFuture<cmd::Completed> {
    let completed = match add(&frame) {
        Ok(_) => Completed::default(),
        Err(error) => Completed::fault(Status::Failed, &error),
    };
    cmd::FfiFuture::new(std::future::ready(completed))
}

// What `export_mod!` writes, but for the factory.
const NAME: &str = env!("CARGO_PKG_NAME");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const PARTS: &[&str] = &cmd::metadata_parts(NAME, VERSION);

#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__cmdmod"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".cmdmod"))]
static METADATA: [u8; cmd::joined_len(PARTS)] = cmd::join(PARTS);

struct Library;

impl cmd::Exported for Library {
    const ROOT: &'static cmd::WithMetadata<cmd::ModRoot> =
        &cmd::WithMetadata::new(cmd::mod_root(NAME, VERSION, register));
}

#[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
static HEADER: cmd::LibHeader = cmd::header::<Library>();
