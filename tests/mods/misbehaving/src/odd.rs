//! Calls the host from where nobody expects it.

use mod_interface::prelude::*;

/// Calls the host from the place that `how` names, if it names one.
pub(crate) async fn call(how: &str, api: &ModApi, ctx: &Ctx, own: Option<&Registration>) -> Result<()> {
    let drops = || CallsWhenDropped(ctx.clone(), api.clone());
    match how {
        "call-in-drop" => drop(drops()),
        "call-while-panicking" => {
            let _drops = drops();
            panic!("with a call on the way");
        }
        "call-when-given-up" => {
            let _drops = drops();
            std::future::pending().await
        }
        "call-from-a-thread" => {
            let (ctx, api) = (ctx.clone(), api.clone());
            let called = std::thread::spawn(move || call_everything(&ctx, &api, "thread"));
            called.join().map_err(|_| Error::msg("the thread panicked"))?;
        }
        "call-what-is-disposed" => {
            let registration = api.on(EventKind::TurnEnd, |_| ())?;
            registration.dispose();
            registration.dispose();
            call_everything(ctx, api, "disposed");
        }
        "dispose-itself" => {
            for own in own.iter().chain(&own) {
                own.dispose();
            }
            ctx.emit("disposed", &json!(own.is_some()))?;
        }
        "flood-events" => {
            for number in 0..1000 {
                ctx.emit("flood", &json!(number))?;
            }
        }
        "flood-bus" => {
            for number in 0..1000 {
                api.events().emit("flood", &json!(number))?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Raises an event that says what came of each call.
fn call_everything(ctx: &Ctx, api: &ModApi, from: &str) {
    ctx.ui().notify(from);
    ctx.log(LogLevel::Info, from);
    let flag = api.get_flag::<String>("how").map(|how| how.is_some());
    let added = api.hooks(Hooks::new().on_stop_sync(|_, _| Ok(StopDecision::Stop)));
    let added = added.map(|hooks| hooks.dispose());
    let tool = api.add_tool(Tool::new("no name", "").run(|_| async { Ok("") })).map(|tool| tool.is_active());
    let said = api.events().emit("nobody-listens", &json!(from));
    let all = [
        flag.map_err(text),
        added.map(|()| true).map_err(text),
        tool.map_err(text),
        said.map(|()| true).map_err(text),
    ];
    // There is nobody to tell that nobody can be told.
    let _lost = ctx.emit(from, &json!(all));
}

fn text(error: Error) -> String {
    error.to_string()
}

struct CallsWhenDropped(Ctx, ModApi);

impl Drop for CallsWhenDropped {
    fn drop(&mut self) {
        call_everything(&self.0, &self.1, "dropped");
    }
}
