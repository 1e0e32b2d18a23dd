use serde_json::{Value, json};

use crate::tools::{
    Access, builtin,
    testing::{Workspace, named},
};

#[test]
fn the_built_in_tools_are_these() {
    let tools: Vec<_> = builtin().iter().map(|tool| (tool.spec().name.clone(), tool.access())).collect();
    let expected = [
        ("read_file", Access::Read),
        ("write_file", Access::Edit),
        ("edit_file", Access::Edit),
        ("shell_command", Access::Other),
        ("grep", Access::Read),
        ("glob", Access::Read),
        ("list_directory", Access::Read),
    ];
    assert_eq!(tools, expected.map(|(name, access)| (name.to_owned(), access)));
    assert!(builtin().iter().all(|tool| tool.spec().read_only == (tool.access() == Access::Read)));
}

#[test]
fn a_schema_is_made_of_the_input_type() {
    let expected = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "command": {"description": "The command.", "type": "string"},
            "timeout_ms": {
                "description": "How long it may take, in milliseconds; 120000 when not given.",
                "type": "integer",
                "minimum": 1,
                "maximum": 600_000,
            },
        },
        "required": ["command"],
    });
    assert_eq!(named("shell_command").spec().input_schema, expected);
}

#[tokio::test]
async fn a_bad_input_says_which_field_what_it_is_and_what_it_should_be() {
    let workspace = Workspace::new();
    let cases = [
        ("read_file", json!({}), "bad input for read_file: missing field `file_path`"),
        (
            "read_file",
            json!({"file_path": 7}),
            "bad input for read_file: at file_path: invalid type: integer `7`, expected a string",
        ),
        (
            "read_file",
            json!({"file_path": "a", "offset": 0}),
            "bad input for read_file: at offset: invalid value: integer `0`, expected a nonzero usize",
        ),
        (
            "edit_file",
            json!({"file_path": "a", "old_string": "a", "new_string": "b", "replace_all": "yes"}),
            "bad input for edit_file: at replace_all: invalid type: string \"yes\", expected a boolean",
        ),
        (
            "shell_command",
            json!({"command": "true", "timeout_ms": 600_001}),
            "bad input for shell_command: at timeout_ms: got 600001, expected 1 to 600000 milliseconds",
        ),
        (
            "grep",
            json!({"pattern": "a", "output_mode": "all"}),
            "bad input for grep: at output_mode: unknown variant `all`, expected one of `content`, `files`, `count`",
        ),
        (
            "glob",
            json!({"pattern": "a", "folder": "b"}),
            "bad input for glob: at folder: unknown field `folder`, expected one of `pattern`, `path`, `limit`, \
             `offset`",
        ),
        (
            "list_directory",
            json!("src"),
            "bad input for list_directory: invalid type: string \"src\", expected an object",
        ),
    ];
    for (tool, input, expected) in cases {
        assert_eq!(workspace.err(tool, input).await, expected);
    }
}

#[tokio::test]
async fn a_call_is_told_in_one_line() {
    let cases = [
        ("read_file", json!({"file_path": "a"}), Some("read a")),
        ("write_file", json!({"file_path": "a", "content": ""}), Some("write a")),
        ("edit_file", json!({"file_path": "a", "old_string": "b", "new_string": ""}), Some("edit a")),
        ("shell_command", json!({"command": "make\nmake test"}), Some("run make make test")),
        ("shell_command", json!({"command": " make "}), Some("run make")),
        ("grep", json!({"pattern": "a+"}), Some("search for a+")),
        ("grep", json!({"pattern": "a+", "path": "src"}), Some("search for a+ in src")),
        ("glob", json!({"pattern": "*.rs"}), Some("find *.rs")),
        ("glob", json!({"pattern": "*.rs", "path": "src"}), Some("find *.rs in src")),
        ("list_directory", json!({}), Some("list .")),
        ("list_directory", json!([]), None),
        ("list_directory", json!("src"), None),
    ];
    for (tool, input, expected) in cases {
        assert_eq!(named(tool).describe(&input).await.as_deref(), expected, "{tool} {input}");
    }
}

#[test]
fn rules_see_the_command_or_the_path() {
    let seen = |tool: &str, input: Value| named(tool).rule_subjects(&input);
    for tool in ["read_file", "write_file", "edit_file"] {
        let of = |path: &str| {
            seen(tool, json!({"file_path": path, "content": ""}))
                .into_iter()
                .next()
                .or_else(|| {
                    seen(tool, json!({"file_path": path, "old_string": "", "new_string": ""}))
                        .into_iter()
                        .next()
                })
                .or_else(|| seen(tool, json!({"file_path": path})).into_iter().next())
        };
        assert_eq!(of("/project/x/../.env").as_deref(), Some("/project/x/../.env"));
    }
    for tool in ["grep", "glob"] {
        assert_eq!(seen(tool, json!({"pattern": "a", "path": "src"})), ["src"]);
        assert_eq!(seen(tool, json!({"pattern": "a"})), ["."]);
    }
    assert_eq!(seen("list_directory", json!({"path": "/"})), ["/"]);
    assert_eq!(seen("shell_command", json!({"command": "\n git status"})), ["git status"]);
    assert_eq!(seen("shell_command", json!({"command": 1})), Vec::<String>::new());
}
