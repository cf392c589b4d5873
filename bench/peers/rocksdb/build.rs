//! Links the system's RocksDB (Debian: `apt-get install librocksdb-dev`).

fn main() {
    println!("cargo::rerun-if-env-changed=ROCKSDB_LIB_DIR");
    if let Ok(directory) = std::env::var("ROCKSDB_LIB_DIR") {
        println!("cargo::rustc-link-search=native={directory}");
    }
    println!("cargo::rustc-link-lib=rocksdb");
}
