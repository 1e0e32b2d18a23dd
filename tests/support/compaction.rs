//! What a compacted conversation looks like.

/// What stands for the beginning of a conversation, where the model said `notes` of it.
pub(crate) const NOTES: &str = "user[other]: The conversation so far was too long to be sent. This is a summary of it; what \
    follows is the rest, word for word.\n\nnotes";
