//! What a piece of a model's answer costs on its way to the run: from a provider of the host, and from one of a mod.
//!
//! Prints nanoseconds a piece, of answers of many pieces, and microseconds a call, of a conversation of 1 MB: the median
//! of many rounds, in turn.

#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use host::{
    events::EventBus,
    mod_host::{Code, ModHost, ModHostConfig, Origin, Plan, Planned},
    providers::{self, ModelEvent, ModelStream, Providers},
};
use mod_interface::{builtin_mod, prelude::*};

const PIECES: usize = 10_000;
const ROUNDS: usize = 31;
const PIECE: &str = "a piece of text ";

/// The same answer, from a provider of the host: as many pieces as the model's name says.
struct Plain;

impl providers::Provider for Plain {
    fn id(&self) -> &str {
        "plain"
    }

    fn stream(&self, request: providers::ModelRequest) -> ModelStream {
        let pieces = request.model.parse().unwrap_or(0);
        let done = ModelEvent::Done { stop_reason: "stop".to_owned(), usage: Usage::default() };
        let events = (0..pieces).map(|_| ModelEvent::Text(PIECE.to_owned())).chain([done]);
        stream::iter(events.map(Ok)).boxed()
    }
}

/// Pushes one by one, and so many at once.
async fn mods(cmd: ModApi) -> Result<()> {
    for at_once in [1, 16] {
        let answer = move |request: ModelRequest, mut sink: ModelSink| async move {
            // As a provider does that sends them.
            let _sent = request.to_messages()?;
            let pieces: usize = request.model().parse()?;
            let batch = vec![ModelPiece::Text(PIECE.to_owned()); at_once];
            for _ in 0..pieces / at_once {
                sink.push_all(&batch).await?;
            }
            Ok(ModelDone::new("stop"))
        };
        cmd.add_provider(Provider::new(format!("by-{at_once}")).stream(answer))?;
    }
    Ok(())
}

fn request(pieces: usize, messages: usize) -> providers::ModelRequest {
    providers::ModelRequest {
        model: pieces.to_string().into(),
        system: "".into(),
        messages: (0..messages).map(|_| Arc::new(Message::user("x".repeat(1000)))).collect(),
        tools: Arc::default(),
        effort: None,
    }
}

/// How long a call takes until its answer is whole.
async fn call(providers: &Providers, id: &str, request: providers::ModelRequest) -> Duration {
    let name = format!("{id}/{}", request.model);
    let Ok((provider, _)) = providers.resolve(&name) else { return Duration::MAX };
    let start = Instant::now();
    let mut events = provider.stream(request);
    while let Some(event) = events.next().await {
        std::hint::black_box(event.is_ok());
    }
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let providers = Providers::new();
    providers.add(Arc::new(Plain))?;
    let config = ModHostConfig::alone(Path::new("/"), Duration::from_secs(10));
    let host = ModHost::new(ModHostConfig { bus: EventBus::new(), providers: providers.clone(), ..config });
    let code = Code::BuiltIn { name: "mods", root: builtin_mod!("mods", mods) };
    let plan = Plan { mods: vec![Planned { origin: Origin::BuiltIn, code }], ..Plan::default() };
    host.load(plan, |_| false).await?;
    let ids = ["plain", "by-1", "by-16"];
    let (mut of_pieces, mut of_calls) = (ids.map(|_| Vec::new()), ids.map(|_| Vec::new()));
    for _ in 0..ROUNDS {
        for (at, id) in ids.iter().enumerate() {
            of_pieces[at].push(call(&providers, id, request(PIECES, 1)).await);
            of_calls[at].push(call(&providers, id, request(0, 1000)).await);
        }
    }
    println!("{:8} {:>12} {:>20}", "provider", "ns a piece", "µs a call of 1 MB");
    for ((id, pieces), calls) in ids.iter().zip(of_pieces).zip(of_calls) {
        println!("{id:8} {:12.0} {:20.0}", median(pieces) * 1e9 / PIECES as f64, median(calls) * 1e6);
    }
    Ok(())
}
