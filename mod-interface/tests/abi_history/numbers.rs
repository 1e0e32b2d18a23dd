//! The numbers that cross the line, and the names beside them: a layout says nothing of those.

use super::assert_unchanged;

/// Makes `numbered()`: what the released interface calls by which number, and what today's does. A variant
/// that is not listed does not compile; one that today's has more stands behind a semicolon, and is no break.
macro_rules! numbers {
    ($($module:ident $name:ident { $($variant:ident)* $(; $($new:ident)*)? })*) => {
        /// The variants that today's interface has more.
        fn new_variants() -> Vec<String> {
            $(let _complete = |it: mod_interface::$module::$name| match it {
                $(mod_interface::$module::$name::$variant => (),)*
                $($(mod_interface::$module::$name::$new => (),)*)?
            };)*
            vec![$($($(format!("{}::{}", stringify!($name), stringify!($new)),)*)?)*]
        }

        fn numbered() -> [Vec<(String, String)>; 2] {
            $(let _complete = |it: v1_0_0::$module::$name| match it {
                $(v1_0_0::$module::$name::$variant => (),)*
            };)*
            let pair = |name: &str, variant: &str, number: u32| (format!("{name}::{variant}"), number.to_string());
            [
                vec![$($(pair(stringify!($name), stringify!($variant), v1_0_0::$module::$name::$variant as u32),)*)*],
                vec![$($(pair(stringify!($name), stringify!($variant), mod_interface::$module::$name::$variant as u32),)*)*],
            ]
        }
    };
}

numbers! {
    abi TextField {
        ModName ModId Cwd SessionId AgentId ToolCallId ToolName ToolInput Prompt LastAssistantText Reason EventKind
        EventText
    }
    abi NumberField {
        TurnNumber MessageCount IsError HadToolCalls Cancelled InputTokens OutputTokens CacheReadTokens
        CacheWriteTokens TurnCount
    }
    abi JsonField { Message ToolContent ModState Event RunResult Data }
    abi Status { Ready Pending Failed Panicked }
    types Hook {
        TransformContext AppendSystemPrompt BeforeToolCall AfterToolCall OnTurnStart OnTurnEnd
        ShouldStopAfterTurn PrepareNextTurn OnRunEnd OnStop TransformInput OnSessionStart OnSessionEnd
    }
}

#[test]
fn every_number_of_interface_1_0_0_means_what_it_meant() {
    let [was, is] = numbered();
    assert_unchanged(&was, &is);
}

macro_rules! flags {
    ($($flag:ident)*) => {
        [
            vec![$((format!("Flags::{}", stringify!($flag)), v1_0_0::abi::Flags::$flag.to_string()),)*],
            vec![$((format!("Flags::{}", stringify!($flag)), mod_interface::abi::Flags::$flag.to_string()),)*],
        ]
    };
}

#[test]
fn every_flag_of_interface_1_0_0_means_what_it_meant() {
    let [was, is] = flags!(SOME TEXT JSON STATE BLOCK TERMINATE IS_ERROR_SET IS_ERROR GO_ON HANDLED);
    assert_unchanged(&was, &is);
}

/// Makes `frames()` of an interface: what a mod reads of messages, and what a host gets to hear of it.
macro_rules! host_of {
    ($host:ident = $interface:ident) => {
        mod $host {
            use abi_stable::std_types::{ROk, RResult, RString};
            use async_ffi::FfiFuture;
            use $interface::{
                abi::{Callable, FrameHost, HookObject, JsonField, NumberField, OwnFrame, TextField},
                types::{ContentBlock, ImageSource, Message, MessageSource, Role},
            };

            struct Shows(Vec<Message>);

            impl FrameHost for Shows {
                fn text(&self, _: TextField) -> &str {
                    ""
                }

                fn number(&self, _: NumberField) -> u64 {
                    0
                }

                fn message(&self, index: usize) -> Option<&Message> {
                    self.0.get(index)
                }

                fn json(&self, _: JsonField, _: usize) -> Option<String> {
                    None
                }

                fn call_now(&self, _: &str, _: &str) -> Result<String, String> {
                    Ok(String::new())
                }

                fn call(&self, _: &str, _: &str) -> FfiFuture<RResult<RString, RString>> {
                    FfiFuture::new(std::future::ready(ROk(RString::new())))
                }

                fn add(&self, _: &str, _: &str, _: Callable) -> Result<u64, String> {
                    Ok(1)
                }

                fn add_hooks(&self, _: &str, _: HookObject) -> Result<u64, String> {
                    Ok(1)
                }
            }

            fn messages() -> Vec<Message> {
                use MessageSource::{FollowUp, Mod, Other, Recovery, Steering, StopHook, ToolResults, User};
                let sources = [User, Steering, FollowUp, StopHook, Recovery, ToolResults, Mod, Other];
                let image = ImageSource { media_type: "image/png".into(), data: "AA".into() };
                let said = [
                    ContentBlock::text("text"),
                    ContentBlock::Thinking { thinking: "thinking".into(), signature: None },
                    ContentBlock::ToolUse {
                        id: "id".into(),
                        name: "name".into(),
                        input: serde_json::json!({}),
                    },
                ];
                let result = |is_error| ContentBlock::ToolResult {
                    tool_use_id: "id".into(),
                    content: vec![
                        ContentBlock::Image { source: image.clone() },
                        ContentBlock::text("result"),
                    ],
                    is_error,
                };
                let heard = vec![result(false), result(true), ContentBlock::Image { source: image.clone() }];
                let sent = sources.map(|source| Message::user_from(source, "text"));
                let rest = [
                    Message::assistant(said.into()),
                    Message { role: Role::User, content: heard, source: ToolResults },
                ];
                sent.into_iter().chain(rest).collect()
            }

            /// What a mod reads of each message and block: numbers, kinds and texts.
            pub(super) fn frames() -> Vec<(String, String)> {
                let own = OwnFrame::new(Shows(messages()));
                let (frame, messages) = (own.frame(), messages());
                let mut read = Vec::new();
                for (at, message) in messages.iter().enumerate() {
                    let name = format!("message {at} of {:?} from {:?}", message.role, message.source);
                    read.push((name, format!("{:?}", frame.message(at))));
                    for (block, content) in message.content.iter().enumerate() {
                        read.push((format!("{content:?}"), format!("{:?}", frame.block(at, block))));
                    }
                }
                read.push(("no message".to_owned(), format!("{:?}", frame.message(messages.len()))));
                read.push(("no block".to_owned(), format!("{:?}", frame.block(0, 1))));
                read
            }
        }
    };
}

host_of!(was = v1_0_0);
host_of!(is = mod_interface);

#[test]
fn what_a_mod_of_interface_1_0_0_reads_of_a_message_is_what_it_was() {
    assert_unchanged(&was::frames(), &is::frames());
}

/// What today's interface has more by number or by name, a line each.
pub(super) fn added() -> Vec<String> {
    let [(hooks, hooks_today), (kinds, kinds_today)] = named();
    let new = |was: &[_], is: &[(String, String)]| {
        let was: Vec<_> = was.iter().map(|(name, _): &(String, String)| name.as_str()).collect();
        let new = is.iter().filter(|(name, _)| !was.contains(&name.as_str()));
        new.map(|(name, wire)| format!("{name} ({wire})")).collect::<Vec<_>>()
    };
    [new_variants(), new(&hooks, &hooks_today), new(&kinds, &kinds_today)].concat()
}

type Names = Vec<(String, String)>;

/// The hooks and the kinds of events with their names on the wire, as they were and as they are.
fn named() -> [(Names, Names); 2] {
    let hooks = v1_0_0::types::Hook::ALL.map(|hook| (format!("{hook:?}"), hook.wire_name().to_owned()));
    let hooks_today =
        mod_interface::types::Hook::ALL.map(|hook| (format!("{hook:?}"), hook.wire_name().to_owned()));
    let kinds = v1_0_0::types::EventKind::ALL.iter();
    let kinds: Vec<_> = kinds.map(|kind| (format!("{kind:?}"), kind.as_str().to_owned())).collect();
    let today = mod_interface::types::EventKind::ALL.iter();
    let today: Vec<_> = today.map(|kind| (format!("{kind:?}"), kind.as_str().to_owned())).collect();
    [(hooks.to_vec(), hooks_today.to_vec()), (kinds, today)]
}

#[test]
fn the_names_on_the_wire_are_what_they_were() {
    named().iter().for_each(|(was, is)| assert_unchanged(was, is));
}
