use std::{mem::MaybeUninit, process::Command};

use registry::{PackArtifact, PackInput};
use rustix::fs::inotify;
use tempfile::TempDir;

use super::*;
use crate::mod_host::host_facts;

/// A home and a workspace with mods in them.
struct Disk {
    dir: TempDir,
    settings: Mods,
    session: Vec<PathBuf>,
}

impl Disk {
    fn new() -> Self {
        let disk = Self { dir: TempDir::new().unwrap(), settings: Mods::default(), session: Vec::new() };
        fs::create_dir_all(disk.path("home")).unwrap();
        fs::create_dir_all(disk.path("work/.commandcode")).unwrap();
        disk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A directory with a manifest for this machine.
    fn directory(&self, name: &str) {
        let manifest = format!(
            "schema = 1\nname = \"m\"\nversion = \"1.0.0\"\ninterface = \"1.0\"\n[[artifact]]\ntarget = \"{}\"\nfile = \"x.so\"\n\
             sha256 = \"{}\"\nsize = 1\n",
            host_facts().target,
            "0".repeat(64)
        );
        self.file(&format!("{name}/mod.toml"), &manifest);
    }

    /// Installs a package with a tiny mod, which is never loaded.
    fn install(&self, scope: &str, name: &str) {
        let path = tiny_mod(self.dir.path(), name);
        let archive = registry::pack(&PackInput {
            name: name.to_owned(),
            package: None,
            version: "1.0.0".parse().unwrap(),
            interface: (1, 0),
            description: None,
            license: None,
            artifacts: vec![PackArtifact { target: host_facts().target, path, glibc: None }],
            out_dir: self.dir.path().to_owned(),
        });
        registry::install_archive(&self.path(scope), &archive.unwrap(), &host_facts()).unwrap();
    }

    fn plan(&self, project: bool, session_only: bool) -> Plan {
        let places = Places::new(self.path("work"), Some(self.path("home")), None).unwrap();
        let (host, settings, session) = (host_facts(), &self.settings, self.session.as_slice());
        Lookup { places: &places, settings, host: &host, session, project, session_only }.plan()
    }

    /// Where the mods and the problems of a plan come from.
    fn origins(&self, plan: &Plan) -> Vec<String> {
        let origins = plan.mods.iter().map(|planned| &planned.origin);
        let origins = origins.chain(plan.problems.iter().map(|(origin, _)| origin));
        origins
            .map(|origin| origin.to_string().replace(&format!("{}/", self.dir.path().display()), ""))
            .collect()
    }
}

/// A library that says that it is a mod, and looks like one.
fn tiny_mod(dir: &Path, name: &str) -> PathBuf {
    let metadata = format!(
        r#"{{"schema":1,"name":"{name}","version":"1.0.0","interface":"1.0","target":"{}","panic":"unwind"}}"#,
        host_facts().target
    );
    let source = format!(
        "__attribute__((section(\".cmdmod\"), used)) static const char metadata[{}] = {metadata:?};\n\
         extern int _Unwind_RaiseException(void *);\nint unwinds(void *object) {{ return _Unwind_RaiseException(object); }}\n",
        metadata.len()
    );
    fs::write(dir.join("tiny.c"), source).unwrap();
    let path = dir.join("tiny.so");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "tiny.c", "-o"]).arg(&path).current_dir(dir).status();
    assert!(built.unwrap().success());
    path
}

#[test]
fn mods_are_found_in_load_order() {
    let mut disk = Disk::new();
    for (scope, folder) in [("home", "home"), ("project", "work/.commandcode")] {
        disk.file(&format!("{folder}/mods/lib{scope}_z.so"), "");
        disk.directory(&format!("{folder}/mods/directory"));
        disk.file(&format!("{folder}/mods/a_{scope}.so"), "");
        disk.install(folder, &format!("{scope}-package"));
    }
    disk.settings.user.paths = vec!["second.so".to_owned(), "../elsewhere/first.so".to_owned()];
    disk.settings.project.paths = vec!["own.so".to_owned()];
    disk.session = vec!["b.so".into(), "a.so".into()];
    let all = [
        "--mod b.so",
        "--mod a.so",
        "home/mods/a_home.so (user)",
        "home/mods/directory (user)",
        "home/mods/libhome_z.so (user)",
        "home/second.so (user)",
        "home/../elsewhere/first.so (user)",
        "file:home-package (user)",
        "work/.commandcode/mods/a_project.so (project)",
        "work/.commandcode/mods/directory (project)",
        "work/.commandcode/mods/libproject_z.so (project)",
        "work/.commandcode/own.so (project)",
        "file:project-package (project)",
    ];
    assert_eq!(disk.origins(&disk.plan(true, false)), all);
    assert_eq!(disk.origins(&disk.plan(false, false)), all[..8]);
    assert_eq!(disk.origins(&disk.plan(true, true)), all[..2]);
    assert_eq!(disk.plan(true, false).notices, [""; 0]);
}

#[test]
fn the_built_in_mods_come_first() {
    async fn idle(_: mod_interface::ModApi) -> mod_interface::Result<()> {
        Ok(())
    }
    let mut disk = Disk::new();
    disk.session = vec!["a.so".into()];
    let roots = [
        ("one", mod_interface::builtin_mod!("one", idle)),
        ("two", mod_interface::builtin_mod!("two", idle)),
    ];
    let plan = disk.plan(false, false).with_built_ins(roots);
    assert_eq!(disk.origins(&plan), ["cmd itself", "cmd itself", "--mod a.so"]);
}

#[test]
fn a_path_on_the_command_line_starts_at_the_workspace() {
    let mut disk = Disk::new();
    disk.session = vec!["a.so".into()];
    let [Planned { code: Code::Library { path, expected: None }, .. }] = &disk.plan(false, false).mods[..]
    else {
        panic!();
    };
    assert_eq!(*path, disk.path("work/a.so"));
}

#[test]
fn a_library_of_a_manifest_must_be_what_the_manifest_says() {
    let disk = Disk::new();
    disk.directory("home/mods/own");
    let [Planned { code: Code::Library { path, expected }, .. }] = &disk.plan(false, false).mods[..] else {
        panic!();
    };
    let says = Expected { name: "m".to_owned(), version: "1.0.0".to_owned(), sha256: "0".repeat(64) };
    assert_eq!((path, expected), (&disk.path("home/mods/own/x.so"), &Some(says)));
}

#[test]
fn what_is_no_mod_is_not_looked_at() {
    let disk = Disk::new();
    let others = [
        ".hidden.so",
        ".hidden/mod.toml",
        "node_modules/x/mod.toml",
        "README.md",
        "lib.dylib.txt",
        "x.so.bak",
    ];
    for other in others {
        disk.file(&format!("home/mods/{other}"), "");
    }
    disk.file("home/mods/real.so", "");
    let plan = disk.plan(false, false);
    assert_eq!((disk.origins(&plan), plan.notices), (vec!["home/mods/real.so (user)".to_owned()], vec![]));
}

#[test]
fn mods_that_are_not_native_are_counted_file_or_folder() {
    let disk = Disk::new();
    for file in ["a.ts", "b/index.ts", "c/package.json"] {
        disk.file(&format!("home/mods/{file}"), "");
    }
    disk.directory("home/mods/native");
    disk.file("home/mods/native/package.json", "{}");
    let plan = disk.plan(false, false);
    assert_eq!(disk.origins(&plan), ["home/mods/native (user)"]);
    let folder = disk.path("home/mods");
    let notice = format!("3 TypeScript mods in {} are not native and were left alone", folder.display());
    assert_eq!(plan.notices, [notice]);
}

#[test]
fn a_bad_folder_is_a_problem_and_hides_no_other() {
    let disk = Disk::new();
    disk.file("home/mods/broken/mod.toml", "schema = ");
    disk.file("home/mods/empty/README.md", "");
    disk.file("home/mods/good.so", "");
    let plan = disk.plan(false, false);
    let expected = ["home/mods/good.so (user)", "home/mods/broken (user)", "home/mods/empty (user)"];
    assert_eq!(disk.origins(&plan), expected);
    let codes: Vec<_> = plan.problems.iter().map(|(_, error)| error.code()).collect();
    assert_eq!(codes, ["E_MANIFEST", "E_NOT_A_MOD"]);
}

/// Every folder at and below `root`.
fn folders(root: &Path) -> Vec<PathBuf> {
    let below = fs::read_dir(root).unwrap().flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let mut all: Vec<_> = below.flat_map(|path| folders(&path)).collect();
    all.push(root.to_owned());
    all
}

/// How many times something at or below `root` is opened or read by `work`.
fn opened(root: &Path, work: impl FnOnce()) -> usize {
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    for folder in folders(root) {
        inotify::add_watch(&watch, folder, inotify::WatchFlags::OPEN | inotify::WatchFlags::ACCESS).unwrap();
    }
    work();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(watch, &mut buffer);
    std::iter::from_fn(|| events.next().ok().map(drop)).count()
}

#[test]
fn nothing_of_a_project_is_opened_while_its_mods_do_not_count() {
    let mut disk = Disk::new();
    disk.file("work/.commandcode/mods/a.so", "");
    disk.directory("work/.commandcode/mods/directory");
    disk.install("work/.commandcode", "package");
    disk.settings.project.paths = vec!["own.so".to_owned()];
    disk.file("work/.commandcode/own.so", "");
    let project = disk.path("work/.commandcode");
    assert_eq!(opened(&project, || drop(disk.plan(false, false))), 0);
    assert!(opened(&project, || drop(disk.plan(true, false))) > 0, "else it proves nothing");
}
