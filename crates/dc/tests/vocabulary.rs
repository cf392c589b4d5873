//! The store's rooms know one record at a time. No word for what happens above may occur in them,
//! not even in a comment: whoever needs one has put a thing into the wrong room.

use std::path::Path;

/// Each word in two halves, so that this file does not contain it.
const FORBIDDEN: [(&str, &str); 5] = [
    ("trans", "action"),
    ("tx", "n"),
    ("snap", "shot"),
    ("ab", "ort"),
    ("com", "mit"),
];

#[test]
fn no_word_from_above_occurs_in_the_stores_rooms() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = 0;
    let mut found = Vec::new();
    for room in ["dc", "dc-lsm"] {
        visit(&crates.join(room), &mut |path| {
            files += 1;
            let text = std::fs::read_to_string(path).unwrap().to_lowercase();
            for (number, line) in text.lines().enumerate() {
                if FORBIDDEN
                    .iter()
                    .any(|(head, tail)| line.contains(&format!("{head}{tail}")))
                {
                    found.push(format!("{}:{}: {line}", path.display(), number + 1));
                }
            }
        });
    }
    assert!(files > 10, "only {files} files looked at");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn visit(directory: &Path, file: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(directory).expect("the tree is readable") {
        let path = entry.expect("the tree is readable").path();
        if path.is_dir() {
            visit(&path, file);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "toml")
        {
            file(&path);
        }
    }
}
