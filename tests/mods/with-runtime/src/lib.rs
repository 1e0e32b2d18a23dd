//! Uses tokio inside its hooks: timers, tasks and sockets of its own runtime.
#![forbid(unsafe_code)]

use std::time::Duration;

use mod_interface::prelude::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

export_mod!(with_runtime, runtime);

async fn with_runtime(cmd: ModApi) -> Result<()> {
    sleep(Duration::from_millis(1)).await;
    cmd.hooks(Hooks::new().append_system_prompt(|_, _| async {
        sleep(Duration::from_millis(1)).await;
        let greeting = tokio::spawn(async { greet().await.map_err(|error| error.to_string()) });
        let greeting = greeting.await?.map_err(Error::msg)?;
        Ok(Some(format!("with-runtime says: {greeting}")))
    }))?;
    let tool = Tool::new("doze", "Waits for longer than it wants to").read_only().run(|_| async {
        // Entered in a drop, too: a timer that is dropped belongs to the runtime.
        let slept = timeout(Duration::from_millis(5), sleep(Duration::from_secs(600))).await;
        Ok(if slept.is_err() { "woken" } else { "slept" })
    });
    cmd.add_tool(tool)?;
    if let Some(script) = cmd.get_flag::<String>("background")? {
        tokio::spawn(cmd.exec("sh").args(["-c", &script]).into_future());
    }
    Ok(())
}

/// Sends a greeting through a socket.
async fn greet() -> std::io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let mut sender = TcpStream::connect(listener.local_addr()?).await?;
    let (mut receiver, _) = listener.accept().await?;
    sender.write_all(b"hello").await?;
    drop(sender);
    let mut greeting = String::new();
    receiver.read_to_string(&mut greeting).await?;
    Ok(greeting)
}

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{TestHost, block_on},
    };

    use super::with_runtime;

    #[test]
    fn timers_tasks_and_sockets_work_in_the_runtime_of_the_test() -> Result<()> {
        block_on(async {
            let tested = TestHost::new().load(with_runtime).await?;
            let prompt = tested.append_system_prompt().await?;
            assert_eq!(prompt.as_deref(), Some("with-runtime says: hello"));
            assert_eq!(tested.call_tool("doze", json!({})).await?, ToolOutput::text("woken"));
            Ok(())
        })
    }
}
