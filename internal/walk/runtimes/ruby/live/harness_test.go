// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/runtimes/ruby"
)

type program []string

var yjit = []string{"--yjit", "--yjit-call-threshold=2"}

const withYJIT = " YJIT"

// rubies returns the installed releases, with and without YJIT. RUBY_RELEASES is the directory given to
// scripts/setup-rubies.sh.
func rubies(t *testing.T) map[string]program {
	t.Helper()
	all := map[string]program{}
	add := func(name, exe string) {
		all[name] = program{exe}
		out, err := bounded.Output(exec.Command(exe, "--yjit", "-e", "p RubyVM::YJIT.enabled?"))
		if err == nil && string(out) == "true\n" {
			all[name+withYJIT] = append(program{exe}, yjit...)
		}
	}
	for _, dir := range []string{"/usr/local/lib/ruby-releases", os.Getenv("RUBY_RELEASES")} {
		found, _ := filepath.Glob(filepath.Join(dir, "*.*/bin/ruby"))
		for _, exe := range found {
			add("release "+filepath.Base(filepath.Dir(filepath.Dir(exe))), exe)
		}
	}
	if _, err := os.Stat("/usr/bin/ruby"); err == nil {
		add("system", "/usr/bin/ruby")
	}
	testtargets.Need(t, len(all) > 0, "ruby", testtargets.SetUp)
	if !testtargets.All() { // one release
		for _, version := range append([]string{"system"}, slices.Sorted(maps.Keys(all))...) {
			if ruby, ok := all[version]; ok {
				return map[string]program{version: ruby}
			}
		}
	}
	return all
}

func launch(t *testing.T, ruby program, args ...string) (*exec.Cmd, string) {
	t.Helper()
	return observed.Launch(t, ruby[0], slices.Concat(ruby[1:], args)...)
}

func attach(t *testing.T, pid int, also ...uint64) *observed.Process {
	t.Helper()
	p := observed.Attach(t, pid, ruby.Detect, also...)
	p.MayEnd = true
	return p
}

func qualified(p *observed.Process) bool {
	name := p.Names.Name()
	return strings.HasPrefix(name, "Ruby 3.4") || strings.HasPrefix(name, "Ruby 4")
}

func samplesOf(def int) int {
	if n, err := strconv.Atoi(os.Getenv("RUBY_LOOKS")); err == nil {
		return n
	}
	return def
}
