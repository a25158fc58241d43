//! A server's keys as text: one command a line, which any version of Redis takes.

use real_redis::Server;

/// A word without spaces or line ends.
fn escaped(bytes: &[u8]) -> String {
    let escaped = bytes.escape_ascii().to_string();
    match escaped.is_empty() {
        true => "\\e".to_owned(),
        false => escaped.replace(' ', "\\x20"),
    }
}

fn unescaped(word: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let [code, after @ ..] = rest else {
            panic!("a lone backslash in {word}")
        };
        rest = after;
        match code {
            b'x' => {
                let (digits, after) = rest.split_at(2);
                rest = after;
                let digits = std::str::from_utf8(digits).expect("digits");
                bytes.push(u8::from_str_radix(digits, 16).expect("a byte"));
            }
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            // An empty word.
            b'e' => {}
            other => bytes.push(*other),
        }
    }
    bytes
}

fn ask<T: redis::FromRedisValue>(server: &Server, words: &[&[u8]]) -> T {
    let mut connection = server.connect().expect("a connection");
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(*word);
    }
    command.query(&mut connection).expect("an answer")
}

/// All keys, in order, and their elements. Keys with an expiry are hints, and are left out.
pub(crate) fn dump(server: &Server) -> String {
    let mut keys: Vec<Vec<u8>> = ask(server, &[b"KEYS", b"*"]);
    keys.sort();
    let mut text = String::new();
    for key in keys {
        if ask::<i64>(server, &[b"PTTL", &key]) >= 0 {
            continue;
        }
        let of_type: String = ask(server, &[b"TYPE", &key]);
        let mut line = |command: &str, words: &[&[u8]]| {
            let words: Vec<String> = words.iter().map(|word| escaped(word)).collect();
            text += &format!("{command} {} {}\n", escaped(&key), words.join(" "));
        };
        match &*of_type {
            "list" => {
                let elements: Vec<Vec<u8>> = ask(server, &[b"LRANGE", &key, b"0", b"-1"]);
                elements
                    .iter()
                    .for_each(|element| line("RPUSH", &[element]));
            }
            "hash" => {
                let mut fields: Vec<(Vec<u8>, Vec<u8>)> = ask(server, &[b"HGETALL", &key]);
                fields.sort();
                fields
                    .iter()
                    .for_each(|(field, value)| line("HSET", &[field, value]));
            }
            "zset" => {
                let range: [&[u8]; 5] = [b"ZRANGE", &key, b"0", b"-1", b"WITHSCORES"];
                let members: Vec<(Vec<u8>, String)> = ask(server, &range);
                members
                    .iter()
                    .for_each(|(member, score)| line("ZADD", &[score.as_bytes(), member]));
            }
            other => panic!("{}: no queue has a {other}", escaped(&key)),
        }
    }
    text
}

pub(crate) fn load(server: &Server, text: &str) {
    for line in text.lines() {
        let words: Vec<Vec<u8>> = line.split(' ').map(unescaped).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let added: i64 = ask(server, &words);
        assert!(added > 0, "{line}");
    }
}
