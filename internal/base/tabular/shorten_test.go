// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShortNamesKeepTheMethod(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"compress", 24, "compress"},
		{"void jdk.internal.net.http.Http2Connection.processFrame(jdk.internal.net.http.frame.Http2Frame)", 32,
			"…Http2Connection.processFrame(…)"},
		{"boolean java.util.concurrent.ThreadPoolExecutor.addWorker(java.lang.Runnable, boolean)", 24, "…addWorker(…)"},
		{"std::map<std::string, std::vector<int> >::operator[](std::string const&) const", 40, "…operator[](…)"},
		{"int db::Engine<db::Row, db::Key>::step(Context&, int) const", 24, "db::Engine<…>::step(…)"},
		{"v8::internal::FactoryBase<v8::internal::Factory>::InternalizeStringWithKey<v8::internal::Key>", 40,
			"…InternalizeStringWithKey<…>"},
		{"crypto/internal/fips140/sha256.(*Digest).checkSum", 24, "…(*Digest).checkSum"},
		{"crypto/internal/fips140/sha256.blockSHANI", 24, "…sha256.blockSHANI"},
		{"(anonymous namespace)::Parser::parse_statement(Token)", 24, "…parse_statement(…)"},
		{"a_function_in_c_with_a_very_long_name_indeed", 20, "a_functio…ame_indeed"},
		{"operator<(A const&, B const&)", 12, "operator<(…)"},
		{"node::worker::Worker::StartThread(v8::Info<v8::Value> const&)::{lambda(void*)#1}::_FUN(void*)", 40,
			"…Worker::StartThread(…)::{lambda#1}"},
		{"db::Pool::run(int)::{lambda(Context&, int)#2}::operator()(Context&, int) const", 24, "…run(…)::{lambda#2}"},
		{"db::Pool::run(int)::{lambda()#1}::operator()() const::{lambda(int)#3}::_FUN", 36,
			"…run(…)::{lambda#1}::{lambda#3}"},
		{strings.Repeat("ns::", 1<<18) + "method(int)", 24, "…ns::ns::ns::method(…)"},
		{"__main__::outer[abi:v1][abi:c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3d]", 40, "__main__::outer"},
		{"outer[abi:v1][abi:cut", 16, "outer[abi:cut"},
		{"outer[abi:v1]", 13, "outer[abi:v1]"},
	} {
		got := Shorten(c.name, c.width)
		if got != c.want {
			t.Errorf("%s in %d columns: %s, want %s", c.name, c.width, got, c.want)
		}
	}
}

func FuzzShortenFits(f *testing.F) {
	f.Add("int a::b<c>::d(e) const", 12)
	f.Add("((((<<>>)))...//::", 9)
	f.Fuzz(func(t *testing.T, name string, width int) {
		if !utf8.ValidString(name) {
			t.Skip("what is shown was made printable")
		}
		got := Shorten(name, width)
		if width >= MinNameWidth && utf8.RuneCountInString(got) > width {
			t.Errorf("%q in %d columns: %q", name, width, got)
		}
	})
}

func TestNamesAreNotShortenedBelowTheLeastWidth(t *testing.T) {
	const name = "outer[abi:v1](int)"
	for width, want := range map[int]string{MinNameWidth - 1: name, 0: name, MinNameWidth: "outer(…)"} {
		if got := Shorten(name, width); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
}
