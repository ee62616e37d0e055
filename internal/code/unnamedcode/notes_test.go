// SPDX-License-Identifier: Apache-2.0

package unnamedcode

import (
	"strings"
	"testing"
)

func TestNotesGiveEachRemedyOnceAndNoneThatCannotBeFollowed(t *testing.T) {
	anon := Row{Name: "[anon]", Module: "[anon]", Nameless: true, Large: true}
	lib := func(name string, large bool) Row { return Row{"[" + name + "]", name, true, large} }
	jvm := []string{"/usr/lib/jvm/17/lib/server/libjvm.so"}
	node, php := []string{"/usr/bin/node"}, []string{"/usr/bin/php8.2"}
	executes := Row{Name: "execute_ex", Module: "php8.2", Large: true}
	named := Row{Name: "f", Module: "[anon]"}
	for name, c := range map[string]struct {
		program Program
		rows    []Row
		want    []string // of each note
		never   string
	}{
		"two libraries, one way": {Program{Files: []string{"/usr/lib/liba.so", "/usr/lib/libb.so"}, Again: "dump again"},
			[]Row{lib("liba.so", true), lib("libb.so", true), lib("liba.so", true)},
			[]string{"[liba.so], [libb.so]: functions without symbols. To get names: install its debug symbols " +
				"(its package's -dbgsym or -debuginfo) and dump again."}, "record again"},
		"as a row": {Program{OneRow: true}, []Row{lib("liba.so", true)},
			[]string{"(unnamed): all functions of that file"}, ""},
		"as a row of each": {Program{OneRow: true}, []Row{lib("a.so", true), lib("b.so", true)},
			[]string{"of each file"}, ""},
		"small": {Program{}, []Row{lib("liba.so", false)}, nil, ""},
		"by address": {Program{Files: []string{"/srv/app"}, Again: "dump again"},
			[]Row{{"app+0x1130", "app", true, true}, {"app+0x1140", "app", true, true}},
			[]string{"app+0x…: functions without symbols, shown by address"}, "AGAIN"},
		"Valgrind": {Program{Files: []string{"/usr/bin/python3.12", "/usr/libexec/valgrind/none-amd64-linux"}}, []Row{anon},
			[]string{"run the program without Valgrind"}, "perf"},
		"Erlang": {Program{Files: []string{"/usr/lib/erlang/erts-13.1.5/bin/beam.smp"}},
			[]Row{{"[memfd:vmem]", "[memfd:vmem]", true, true}}, []string{"erl +JPperf true"}, "debug symbols"},
		"named memory": {Program{Files: node}, []Row{{"[anon:v8]", "[anon:v8]", true, true}},
			[]string{"[anon:v8]: "}, ""},
		"JavaScript": {Program{Files: node}, []Row{anon}, []string{"--perf-basic-prof"}, ""},
		"a perf map": {Program{Files: node, Again: "record again"}, []Row{anon, named},
			[]string{"does not name. If it was written once, as by jcmd, write it again, and record again."}, "--perf"},
		"a perf map and a core": {Program{Files: node, Ended: true}, []Row{anon, named}, nil, ""},
		"its own names":         {Program{Mappings: []string{"[HotSpot 17]"}, Files: jvm}, []Row{anon}, nil, ""},
		"a JVM": {Program{Files: jvm, PID: 7, Again: "dump again"}, []Row{anon},
			[]string{"run jcmd 7 Compiler.perfmap (JDK 17 and later), then dump again:"}, ""},
		"a core": {Program{Files: jvm, PID: 7, Ended: true}, []Row{anon},
			[]string{"[anon]: Java code"}, "jcmd"},
		"an interpreter":      {Program{Files: php}, []Row{executes}, []string{"opcache.jit_debug"}, ""},
		"PHP's JIT, followed": {Program{Files: php}, []Row{executes, named}, nil, ""},
		"old Ruby": {Program{Files: []string{"/usr/lib/libruby-3.1.so.3.1.2"}},
			[]Row{{Name: "vm_exec", Module: "r", Large: true}},
			[]string{"Ruby 3.1 has no option for it"}, "--yjit"},
	} {
		notes := c.program.Notes(c.rows)
		text := strings.Join(notes, "\n")
		ok := len(notes) == len(c.want) && (c.never == "" || !strings.Contains(text, c.never))
		for i := range c.want {
			ok = ok && strings.Contains(notes[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: %q", name, notes)
		}
	}
}

func TestTheAdviceForAMissingFileIsToBringIt(t *testing.T) {
	rows := []Row{{Name: "[libx.so]", Module: "libx.so", Nameless: true, Large: true}}
	p := Program{Files: []string{"/usr/lib/libx.so"}, Missing: []string{"/usr/lib/libx.so"}, Again: "dump again"}
	for ended, want := range map[bool]string{
		true: "To get names: its file is not here, or is not the one that ran: copy it from where the program ran to DIR, " +
			"with its path, and give --sysroot DIR.",
		false: "To get names: its file is gone or cannot be read: put it back, or restart the program, and dump again.",
	} {
		p.Ended = ended
		if got := strings.Join(p.Notes(rows), "\n"); !strings.HasSuffix(got, want) {
			t.Errorf("of a core %t: %q, want %q", ended, got, want)
		}
	}
	p.Missing = nil
	if got := strings.Join(p.Notes(rows), "\n"); !strings.Contains(got, "install its debug symbols") {
		t.Errorf("of a file that is there: %q", got)
	}
}
