//! The models of `faulty`, or what `FAULTY_PROVIDER_ID` calls it: each is named for what it does.

// To go wrong is what they are for.
#![allow(clippy::panic)]

use std::{future::pending, thread, time::Duration};

use mod_interface::prelude::*;

pub(crate) fn add(cmd: &ModApi) -> Result<()> {
    let id = std::env::var("FAULTY_PROVIDER_ID").unwrap_or_else(|_| "faulty".to_owned());
    let provider = Provider::new(id)
        .prepare(|model| match model {
            "keyless" => Err(Error::msg("no key for faulty: set FAULTY_KEY")),
            "unprepared" => panic!("prepared"),
            _ => Ok(()),
        })
        .stream(|request, sink| {
            if request.model() == "panics-called" {
                panic!("called");
            }
            answer(request, sink)
        });
    cmd.add_provider(provider)?;
    Ok(())
}

async fn answer(request: ModelRequest, mut sink: ModelSink) -> Result<ModelDone, ModelError> {
    match request.model() {
        "answers" => return answers(&request, &mut sink).await,
        "floods-slowly" => {
            for number in 0..1000 {
                sink.text(format!("{number} ")).await?;
            }
        }
        "panics" => {
            sink.text("so far").await?;
            panic!("in the middle");
        }
        "stalls" => {
            sink.text("so far").await?;
            pending().await
        }
        "blocks" => loop {
            thread::sleep(Duration::from_secs(1));
        },
        "fails" => Err(ModelError::fatal("the server knows no such model"))?,
        "is-busy" => Err(ModelError::retryable("the server is busy").retry_after(Duration::from_secs(3600)))?,
        "breaks" => {
            sink.text("so far").await?;
            Err(std::io::Error::other("the connection broke"))?;
        }
        // What is refused is refused, whatever the mod makes of it.
        "no-call-id" => drop(sink.tool_use("", "ls").await),
        "no-call-name" => drop(sink.tool_use("1", "").await),
        "same-call-id" => {
            sink.tool_use("1", "ls").await?;
            drop(sink.tool_use("1", "ls").await);
            drop(sink.text("more").await);
        }
        "input-first" => drop(sink.tool_input("{}").await),
        "input-behind-text" => {
            sink.tool_use("1", "ls").await?;
            sink.text("no more calls").await?;
            drop(sink.tool_input("{}").await);
        }
        "floods" => loop {
            sink.text("x".repeat(1 << 20)).await?;
        },
        "floods-with-nothing" => {
            let nothing = vec![ModelPiece::Alive; 20_000];
            loop {
                sink.push_all(&nothing).await?;
            }
        }
        other => Err(ModelError::fatal(format!("there is no such fault: {other}")))?,
    }
    Ok(ModelDone::new("end_turn"))
}

/// Says what it was asked, with one piece of every kind.
async fn answers(request: &ModelRequest, sink: &mut ModelSink) -> Result<ModelDone, ModelError> {
    sink.thinking("hm").await?;
    sink.signature("signed").await?;
    sink.push(ModelPiece::BlockEnd).await?;
    sink.alive().await?;
    let tools: Vec<_> = request.tools().iter().map(|tool| tool.name.as_str()).collect();
    let asked = request.to_messages()?.iter().map(Message::text).collect::<Vec<_>>().join("|");
    sink.text(format!("{}; {:?}; {}; ", request.system(), request.effort(), tools.join(","))).await?;
    sink.text(asked).await?;
    sink.tool_use("1", "ls").await?;
    sink.tool_input("{\"path\":").await?;
    sink.tool_input("\".\"}").await?;
    let usage = Usage { input_tokens: 3, output_tokens: 4, cache_read_tokens: 1, cache_write_tokens: 2 };
    Ok(ModelDone::new("tool_use").usage(usage))
}
