use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use mod_interface::types::{Message, MessageSource};

/// How many messages of mods may wait, and how many bytes of them: no model would be sent more.
const MAX_WAITING: usize = 1024;
const MAX_BYTES: usize = 4 << 20;

/// When a queued message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// After the tool batch that is running, or when a run begins.
    Steer,
    /// When the run would stop.
    FollowUp,
}

/// Who queued a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Somebody at the keyboard.
    Person,
    /// A mod.
    Mod,
}

/// What is said while a run goes on. What a run does not get to waits for the next one.
#[derive(Debug, Default)]
pub struct MessageQueue {
    waiting: Mutex<VecDeque<Queued>>,
}

#[derive(Debug)]
struct Queued {
    sender: Sender,
    delivery: Delivery,
    text: String,
}

/// What one poll delivers.
#[derive(Debug, PartialEq)]
pub(super) struct Delivered {
    pub(super) messages: Vec<Message>,
    /// Whether a person said any of it.
    pub(super) by_person: bool,
}

impl MessageQueue {
    /// Queues `text`. One of a mod is not taken, which is `false`, where too much of mods is waiting already.
    pub fn push(&self, sender: Sender, delivery: Delivery, text: impl Into<String>) -> bool {
        let text = text.into();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if sender == Sender::Mod {
            let of_mods = waiting.iter().filter(|it| it.sender == Sender::Mod);
            let (count, bytes) =
                of_mods.fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.text.len()));
            if count == MAX_WAITING || bytes + text.len() > MAX_BYTES {
                return false;
            }
        }
        waiting.push_back(Queued { sender, delivery, text });
        true
    }

    /// Takes what steers; what a person said comes before what mods said.
    pub(super) fn take_steering(&self) -> Delivered {
        self.take(Delivery::Steer, MessageSource::Steering)
    }

    /// Takes what keeps a run going that would stop: what steers, else what follows up.
    pub(super) fn take_follow_up(&self) -> Delivered {
        let steering = self.take_steering();
        if !steering.messages.is_empty() {
            return steering;
        }
        self.take(Delivery::FollowUp, MessageSource::FollowUp)
    }

    fn take(&self, delivery: Delivery, source: MessageSource) -> Delivered {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (taken, left) = std::mem::take(&mut *waiting).into_iter().partition(|it| it.delivery == delivery);
        *waiting = left;
        let (persons, mods): (Vec<_>, Vec<_>) =
            VecDeque::into_iter(taken).partition(|it: &Queued| it.sender == Sender::Person);
        let by_person = !persons.is_empty();
        let messages =
            persons.into_iter().chain(mods).map(|it| Message::user_from(source, it.text)).collect();
        Delivered { messages, by_person }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(delivered: &Delivered) -> Vec<String> {
        delivered.messages.iter().map(Message::text).collect()
    }

    #[test]
    fn what_waits_of_mods_is_bounded_in_number_and_size_and_a_person_is_always_heard() {
        let queue = MessageQueue::default();
        let taken = (0..2 * MAX_WAITING).filter(|_| queue.push(Sender::Mod, Delivery::Steer, "x")).count();
        assert_eq!((taken, queue.push(Sender::Person, Delivery::Steer, "x")), (MAX_WAITING, true));
        assert_eq!(queue.take_steering().messages.len(), MAX_WAITING + 1);
        assert!(!queue.push(Sender::Mod, Delivery::Steer, "x".repeat(MAX_BYTES + 1)));
        assert!(queue.push(Sender::Mod, Delivery::Steer, "x".repeat(MAX_BYTES)));
        assert!(!queue.push(Sender::Mod, Delivery::FollowUp, "x"));
    }

    fn filled() -> MessageQueue {
        let queue = MessageQueue::default();
        queue.push(Sender::Mod, Delivery::FollowUp, "mod follows up");
        queue.push(Sender::Mod, Delivery::Steer, "mod steers");
        queue.push(Sender::Person, Delivery::FollowUp, "person follows up");
        queue.push(Sender::Person, Delivery::Steer, "person steers");
        queue.push(Sender::Person, Delivery::Steer, "person steers again");
        queue
    }

    #[test]
    fn what_mods_steer_lands_behind_what_people_queued() {
        let delivered = filled().take_steering();
        assert_eq!(texts(&delivered), ["person steers", "person steers again", "mod steers"]);
        assert!(delivered.by_person);
        assert!(delivered.messages.iter().all(|message| message.source == MessageSource::Steering));
    }

    #[test]
    fn follow_ups_wait_behind_queued_steering() {
        let queue = filled();
        assert_eq!(texts(&queue.take_follow_up()), ["person steers", "person steers again", "mod steers"]);
        let follow_up = queue.take_follow_up();
        assert_eq!(texts(&follow_up), ["person follows up", "mod follows up"]);
        assert!(follow_up.messages.iter().all(|message| message.source == MessageSource::FollowUp));
        assert_eq!(queue.take_follow_up(), Delivered { messages: vec![], by_person: false });
    }
}
