# Sourced by ./run and ./test: installs what is missing, or says exactly what to install.

# need TEST PACKAGE...: unless the command TEST succeeds, installs the Debian packages.
need() {
    local test=$1
    shift
    if eval "$test" >/dev/null 2>&1; then return 0; fi
    local apt=()
    if command -v apt-get >/dev/null; then
        if [ "$(id -u)" = 0 ]; then
            apt=(apt-get)
        elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
            apt=(sudo apt-get)
        fi
    fi
    if [ ${#apt[@]} -gt 0 ]; then
        echo "installing $*"
        # Whether it worked is seen below; a failure must not end the caller before it is told what to do.
        if ! "${apt[@]}" install -y -q --no-install-recommends "$@" >/dev/null 2>&1; then
            "${apt[@]}" update -q >/dev/null || true
            DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y -q --no-install-recommends "$@" || true
        fi
        if eval "$test" >/dev/null 2>&1; then return 0; fi
    fi
    echo "Missing: $*" >&2
    echo "Install it and try again. On Debian or Ubuntu, as root:" >&2
    echo "    apt-get install $*" >&2
    echo "On other systems the packages are named alike (Fedora: gcc clang-devel postgresql-server java-17-openjdk-headless maven)." >&2
    exit 1
}

# What it takes to compile: a C compiler, and libclang for the bindings of the SQL parser.
need_compiler() {
    if ! command -v cargo >/dev/null; then
        if [ -x "$HOME/.cargo/bin/cargo" ]; then
            export PATH="$HOME/.cargo/bin:$PATH"
        else
            echo "cargo is not installed. Install Rust with rustup (see rustup.rs or the package rustup of your system)" >&2
            echo "and try again; the right version is then fetched by itself (rust-toolchain.toml)." >&2
            exit 1
        fi
    fi
    need 'command -v cc' build-essential
    # libclang.so and libclang-14.so are wanted; libclang-cpp.so, which other packages bring, is another library.
    need '[ -n "${LIBCLANG_PATH:-}" ] || ldconfig -p | grep -E "libclang(-[0-9.]+)?[.]so" ||
          compgen -G "/usr/lib/llvm-*/lib/libclang.so*" || compgen -G "/usr/lib/llvm-*/lib/libclang-[0-9]*.so*"' clang libclang-dev
}
