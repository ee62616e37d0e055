// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/show/chains"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/topologies"
)

// Five borrowers wait for a pool of which nothing stores who took what: the end is unknown, and both holders are named
// with what they do.
func TestChainsOfAnExhaustedPoolNameWhatItsHoldersDo(t *testing.T) {
	for name, start := range map[string]func(t *testing.T, dir string) []string{
		"HikariCP-like": func(t *testing.T, dir string) []string {
			return []string{compiledPool(t, dir, 17), "-cp", dir, "Pool"}
		},
		"virtual threads": func(t *testing.T, dir string) []string {
			return []string{compiledPool(t, dir, 21), "-cp", dir, "Pool", "virtual"}
		},
		"puma-like": func(t *testing.T, _ string) []string {
			return []string{testtargets.NeedProgram(t, "ruby"), "testdata/pools/pool.rb"}
		},
		"gunicorn-like": func(t *testing.T, _ string) []string {
			return []string{testtargets.NeedProgram(t, "python3"), "testdata/pools/prefork.py"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "virtual threads" {
				testtargets.OnlyInAll(t, "another pool of Java")
			}
			args := start(t, scratch(t, nil))
			cmd := exec.Command(args[0], args[1:]...)
			testtargets.Ready(t, cmd)
			pid := fmt.Sprint(cmd.Process.Pid)
			children, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
			if err != nil {
				t.Fatal(err)
			}
			pids, last := strings.Join(append(strings.Fields(string(children)), pid), ","), ""
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(last)
				}
			})
			eventually(t, "a chain of five borrowers with both holders", func() bool {
				last = prywalk(t, "dump", "--chains", "--json", "-p", pids).must(t, 0).stdout
				return hasExhaustedPool(t, last)
			})
		})
	}
}

// hasExhaustedPool reports whether all five borrowers are in chains without a known end whose process does both other
// works meanwhile.
func hasExhaustedPool(t *testing.T, text string) bool {
	t.Helper()
	var all chains.Report
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	borrowers := 0
	for i := range all.Chains {
		c := &all.Chains[i]
		if !strings.HasSuffix(c.Links[0].Function, "borrow") {
			continue
		}
		if c.End.Kind == chains.Deadlock || strings.Contains(c.End.Why, "deadlock") {
			t.Fatalf("a false end: %+v", c)
		}
		if c.End.Kind != chains.Unknown {
			return false // it has not begun to wait for the pool, but for the interpreter's lock
		}
		does := map[string]bool{}
		for j := range c.Meanwhile {
			does[topologies.OwnName(c.Meanwhile[j].Function)] = true
		}
		if does["render"] && (does["ask_bank"] || does["askBank"]) {
			borrowers += c.Threads
		}
	}
	return borrowers == 5
}

// compiledPool compiles Pool and returns the java of the first JDK of at least a version.
func compiledPool(t *testing.T, dir string, least int) (java string) {
	t.Helper()
	homes, _ := filepath.Glob("/usr/lib/jvm/*")
	for _, home := range homes {
		text, _ := os.ReadFile(filepath.Join(home, "release"))
		_, version, _ := strings.Cut(string(text), `JAVA_VERSION="`)
		var major int
		if n, _ := fmt.Sscan(version, &major); n != 1 || major < least {
			continue
		}
		javac := filepath.Join(home, "bin", "javac")
		if _, err := os.Stat(javac); err != nil {
			continue // no more than a JRE
		}
		if out, err := bounded.AllOutput(exec.Command(javac, "-d", dir, "testdata/pools/Pool.java")); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return filepath.Join(home, "bin", "java")
	}
	testtargets.Need(t, false, fmt.Sprint("a JDK from version ", least), "apt-get install openjdk-17-jdk, or a newer one")
	return ""
}
