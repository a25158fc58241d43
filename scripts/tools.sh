# What scripts/test asks of the machine and of the workspace. Sourced, never run.

give_up() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Runs a command as root: as we are, or through sudo where there is one.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        return 1
    fi
}

# Installs a package with whatever package manager there is: apt's name, then dnf's, apk's,
# pacman's and Homebrew's.
install_package() {
    if has apt-get; then
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$1" ||
            { as_root apt-get update &&
                as_root env DEBIAN_FRONTEND=noninteractive \
                    apt-get install -y --no-install-recommends "$1"; }
    elif has dnf; then
        as_root dnf install -y "$2"
    elif has apk; then
        as_root apk add "$3"
    elif has pacman; then
        as_root pacman -Sy --noconfirm "$4"
    elif has brew; then
        brew install "$5"
    else
        return 1
    fi
}

need_cargo() {
    has cargo || give_up "there is no cargo: install a Rust toolchain, as new as rust-version in Cargo.toml says"
    has cc || install_package gcc gcc build-base gcc gcc ||
        give_up "there is no C linker: install gcc or clang, and run this again"
    for component in rustfmt clippy; do
        cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 ||
            { has rustup && rustup component add "$component"; } ||
            give_up "cargo has no $component: install that component of your toolchain"
    done
    cargo --version
}

# The tests start servers of their own, on their own sockets; one that runs already is left alone.
need_redis_server() {
    local program=${QUEUE_TEST_REDIS_SERVER:-redis-server}
    if [ "$program" != redis-server ]; then
        has "$program" || give_up "QUEUE_TEST_REDIS_SERVER=$program: there is no such program"
        "$program" --version
        return
    fi
    has redis-server || install_package redis-server redis redis redis redis || true
    has redis-server ||
        give_up "there is no redis-server, and it could not be installed: install Redis 6.2 or" \
            "newer so that redis-server is in the PATH, and run this again"
    local version
    version=$(redis-server --version | sed 's/.*v=\([0-9.]*\).*/\1/')
    [ "$(printf '6.2\n%s\n' "$version" | sort -V | head -n 1)" = 6.2 ] ||
        give_up "the redis-server in the PATH is $version: install 6.2 or newer"
    echo "redis-server $version"
}

# The servers that the tests of queue-sql start, on sockets of their own. Debian's package also runs one of its own, which
# is left alone.
need_postgres() {
    has_postgres || install_package postgresql postgresql-server postgresql postgresql postgresql || true
    has_postgres ||
        give_up "there is no Postgres, and it could not be installed: install version 13 or newer, or name the folder of" \
            "its programs by QUEUE_TEST_POSTGRES_BIN, and run this again"
    has pgbouncer || [ -x /usr/sbin/pgbouncer ] ||
        install_package pgbouncer pgbouncer pgbouncer pgbouncer pgbouncer || true
    has pgbouncer || [ -x /usr/sbin/pgbouncer ] ||
        give_up "there is no pgbouncer, and it could not be installed: install it, and run this again"
}

has_postgres() { [ -n "$(postgres_programs)" ]; }

# Prints the folder of Postgres' programs, if there is one. Debian has those of each version in a folder of its own.
postgres_programs() {
    local folder
    for folder in ${QUEUE_TEST_POSTGRES_BIN:+"$QUEUE_TEST_POSTGRES_BIN"} /usr/lib/postgresql/*/bin; do
        [ ! -x "$folder/initdb" ] || { echo "$folder" && return; }
    done
    ! has initdb || dirname "$(readlink -f "$(command -v initdb)")"
}

# The sources of locales, from which a test of queue-redis makes one.
need_locales() {
    has localedef && [ -e /usr/share/i18n/locales/en_US ] ||
        install_package locales glibc-locale-source musl-locales glibc gettext || true
    has localedef && [ -e /usr/share/i18n/locales/en_US ] ||
        give_up "there is no localedef, or no source of the locale en_US, and they could not be installed: install" \
            "the package locales, and run this again"
}

# Reads the Lua of queue-redis, by tests/lua.rs there.
need_luacheck() {
    has luacheck || install_package lua-check luacheck luacheck luacheck luacheck || true
    has luacheck ||
        give_up "there is no luacheck, and it could not be installed: install it, by luarocks if" \
            "by nothing else, and run this again"
}

# The browser in which queue-ops tests its page, and the program that drives it.
need_chromium() {
    has chromedriver || install_package chromium-driver chromedriver chromium-chromedriver chromium chromedriver || true
    has chromium || has chromium-browser || has google-chrome ||
        install_package chromium chromium chromium chromium chromium || true
    has chromedriver ||
        give_up "there is no chromedriver, and it could not be installed: install Chromium and its driver, and run" \
            "this again"
}

# Reads the alerts of docs/monitoring.
need_promtool() {
    has promtool || install_package prometheus golang-github-prometheus prometheus prometheus prometheus || true
    has promtool ||
        give_up "there is no promtool, and it could not be installed: install Prometheus, and run this again"
}

# Makes the book of docs/. Cargo builds it into the target folder, once for a version. MDBOOK is the program then.
need_mdbook() {
    local version=0.5.4 tools
    tools=$(target_directory)/tools
    MDBOOK=$tools/bin/mdbook
    [ "$("$MDBOOK" --version 2>/dev/null)" = "mdbook v$version" ] ||
        cargo install --quiet --locked --debug --root "$tools" --target-dir "$tools/build" \
            --no-default-features --features search --version "$version" mdbook ||
        give_up "mdbook $version could not be built: run this again where cargo reaches its registry"
}

# The workspace's packages, each by the name in its manifest: not those that are workspaces of their own.
members() {
    local manifests
    mapfile -t manifests < <(grep -Lx '\[workspace\]' ./{,examples/,testing/}*/Cargo.toml)
    awk -F'"' '/^\[package\]/ { inside = 1 } inside && /^name/ { print $2; inside = 0 }' \
        Cargo.toml "${manifests[@]}"
}

# The manifest of one of the workspace's packages.
manifest_of() {
    grep -lx "name = \"$1\"" Cargo.toml ./{,examples/,testing/}*/Cargo.toml
}

is_published() {
    ! grep -qx 'publish = false' "$(manifest_of "$1")"
}

# A package's own features, one a line, the default set left out.
features_of() {
    awk '/^\[/ { inside = /^\[features\]/ } inside && /^[a-z]/ && $1 != "default" { print $1 }' \
        "$(manifest_of "$1")"
}

# Programs that turn on features of the libraries: beside them, none of those features is left out.
PROGRAMS=(queue-ops queue-kit-rotation queue-kit-service)

# All features of the workspace's packages but these, and but those of programs, as cargo's --features takes them. What is left out
# with all the rest on, cargo builds from what it has built for the tests.
all_features_but() {
    local package feature features=()
    for package in $(members); do
        [[ " ${PROGRAMS[*]} " != *" $package "* ]] || continue
        for feature in $(features_of "$package"); do
            [[ " $* " == *" $feature "* ]] || features+=("$package/$feature")
        done
    done
    local IFS=,
    echo "${features[*]}"
}

# The name of an installed toolchain of this version, such as 1.88 or 1.88.0; fails if there is none.
toolchain_of() {
    awk -v version="$1" '
        { bare = $1; sub(/-.*/, "", bare) }
        bare == version || index(bare, version ".") == 1 { found = $1 }
        END { print found; exit found == "" }' <<<"$(rustup toolchain list)"
}

# Builds with the stated version, which rustup installs if it can. Status 69 if there is none: then only
# clippy's incompatible_msrv has looked at our own code, and tests/frame.rs at what the dependencies state.
check_msrv() {
    local version toolchain
    version=$(awk -F'"' '/^rust-version/ { print $2; exit }' Cargo.toml)
    has rustup || return 69
    toolchain_of "$version" >/dev/null ||
        rustup toolchain install "$version" --profile minimal --no-self-update || return 69
    toolchain=$(toolchain_of "$version") || return 69
    cargo "+$toolchain" check --workspace --all-features
}

# Fails if the dependency tree that the command prints has this crate in it.
refuse_crate() {
    local crate=$1 tree
    shift
    tree=$("$@" --prefix none)
    if grep "^$crate v" <<<"$tree"; then
        give_up "$crate is in the tree of: $*"
    fi
}

# Where cargo puts what it builds.
target_directory() {
    cargo metadata --locked --no-deps --format-version 1 |
        sed 's/.*"target_directory":"\([^"]*\)".*/\1/'
}

# Runs a command of cargo, and has clippy look on, with warnings as errors.
under_clippy() {
    RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/read_once CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__ "$@"
}

# The same in a target folder of its own, so that it can go on beside a build. What looks at code without
# making programs of it is run by this, since what one such command has read serves the others.
with_lints() {
    [ -n "${lints_folder:-}" ] || lints_folder=$(target_directory)/lints
    CARGO_TARGET_DIR=$lints_folder under_clippy "$@"
}
