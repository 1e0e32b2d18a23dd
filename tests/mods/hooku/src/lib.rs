//! Where a run would end, another model looks at the answer once more:
//! `--mod-option hooku.model=provider/id`. Without it, the mod does nothing.
//!
//! It shows how `on_stop` and `prepare_next_turn` go together: one keeps the run going, the other says by whom.
#![forbid(unsafe_code)]

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use mod_interface::prelude::*;

export_mod!(hooku);

async fn hooku(cmd: ModApi) -> Result<()> {
    let model = cmd.flag(Flag::string("model").description("Who looks at the answer"))?;
    let ask = Flag::string("ask").default("Look at this answer once more, and mend what is wrong with it.");
    let ask = cmd.flag(ask.description("What it is told"))?;
    let Some(model) = model.filter(|model| !model.is_empty()) else { return Ok(()) };

    // Whether this run was kept going. Sub-agents come to an end as ever.
    let asked = Arc::new(AtomicBool::new(false));
    let told = format!("hooku: {model} looks at the answer");
    let hooks = Hooks::sharing(&asked)
        .on_stop_sync(move |asked, _, ctx| {
            if ctx.agent_id() != MAIN_AGENT || asked.swap(true, Relaxed) {
                return Ok(StopDecision::Stop);
            }
            ctx.ui().notify(&told);
            Ok(StopDecision::go_on(&ask))
        })
        .prepare_next_turn_sync(move |asked, _, ctx| {
            let goes_on = ctx.agent_id() == MAIN_AGENT && asked.load(Relaxed);
            Ok(goes_on.then(|| NextTurn::model(&model)))
        })
        .on_run_end_sync(|asked, _, ctx| {
            if ctx.agent_id() == MAIN_AGENT {
                asked.store(false, Relaxed);
            }
            Ok(())
        });
    cmd.hooks(hooks)?;
    Ok(())
}
