//! The guest, and the way into it.

use serde_json::Value;
use wasmtime::{Config, Engine, Error, Instance, Memory, Module, Result, Store, TypedFunc};

/// The guest's code, compiled.
pub(crate) struct Code(Engine, Module);

impl Code {
    pub(crate) fn new() -> Result<Self> {
        let mut config = Config::new();
        // The deadline of a plugin that does not come back.
        config.epoch_interruption(true);
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, std::fs::read(env!("GUEST"))?)?;
        Ok(Self(engine, module))
    }
}

/// An instance, with one of its jobs.
pub(crate) struct Plugin {
    store: Store<()>,
    memory: Memory,
    room: TypedFunc<u32, u32>,
    job: TypedFunc<(u32, u32), u64>,
    read: TypedFunc<(u32, u32), ()>,
}

impl Plugin {
    pub(crate) fn new(Code(engine, module): &Code, job: &str) -> Result<Self> {
        let mut store = Store::new(engine, ());
        store.set_epoch_deadline(1);
        let instance = Instance::new(&mut store, module, &[])?;
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(|| Error::msg("no memory"))?;
        Ok(Self {
            room: instance.get_typed_func(&mut store, "room")?,
            job: instance.get_typed_func(&mut store, job)?,
            read: instance.get_typed_func(&mut store, "read")?,
            store,
            memory,
        })
    }

    /// Writes what is asked into its memory, asks, and reads the answer.
    pub(crate) fn ask(&mut self, asked: &[u8]) -> Result<Option<Value>> {
        self.store.set_epoch_deadline(1);
        let length = u32::try_from(asked.len())?;
        let at = self.room.call(&mut self.store, length)?;
        self.memory.write(&mut self.store, at as usize, asked)?;
        let said = self.job.call(&mut self.store, (at, length))?;
        if said == 0 {
            return Ok(None);
        }
        let (at, length) = ((said >> 32) as u32, said as u32);
        let bytes = &self.memory.data(&self.store)[at as usize..][..length as usize];
        let value = serde_json::from_slice(bytes)?;
        self.read.call(&mut self.store, (at, length))?;
        Ok(Some(value))
    }
}
