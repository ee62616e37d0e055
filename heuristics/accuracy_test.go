// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

var update = flag.Bool("update", false, "write the counts of this machine's files into testdata/accuracy.txt")

// accuracyFile has the verdicts on the rules of code that is known byte by byte, one line for each file and kind of
// query: "CODE EVERY bounds|forward callee|caller: COUNTS".
const accuracyFile = "testdata/accuracy.txt"

var queryKinds = []struct{ bounds, caller bool }{{true, false}, {true, true}, {false, false}, {false, true}}

func kindName(bounds, caller bool) string {
	return map[bool]string{true: "bounds", false: "forward"}[bounds] + " " +
		map[bool]string{true: "caller", false: "callee"}[caller]
}

func (c *elfCode) digest() string {
	h := sha256.New()
	for _, p := range c.parts {
		h.Write(p.Bytes)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

func knownAccuracy(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(accuracyFile)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, counts, _ := strings.Cut(strings.TrimSpace(line), ": ")
		known[key] = counts
	}
	return known
}

func learnAccuracy(t *testing.T, learned map[string]string) {
	t.Helper()
	known := knownAccuracy(t)
	var lines []string
	for key, counts := range learned {
		known[key] = counts
	}
	for key, counts := range known {
		lines = append(lines, key+": "+counts+"\n")
	}
	slices.Sort(lines)
	if err := os.WriteFile(accuracyFile, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// holds compares each verdict's count with the known one. The analysis is deterministic, so that the counts for known
// code are exact. Code that is not known makes no verdict: BenchmarkAccuracy measures it.
func holds(t *testing.T, name, path string, every int) {
	t.Helper()
	funcs, code := readCFI(t, path), openCode(t, path)
	prefix := fmt.Sprintf("%s %d ", name, every)
	known, learned := knownAccuracy(t), map[string]string{}
	for _, k := range queryKinds {
		c := judge(t, path, funcs, code, k.bounds, every, k.caller, 3)
		key := prefix + kindName(k.bounds, k.caller)
		if learned[key] = c.String(); known[key] != c.String() && !*update {
			t.Errorf("%s:\n%s, want\n%s", key, c, known[key])
		}
	}
	if *update {
		learnAccuracy(t, learned)
	}
}

// installed returns a file's name with a digest of its machine code. It skips the test for code that is not known.
func installed(t *testing.T, name, path string) string {
	t.Helper()
	name += " " + openCode(t, path).digest()
	known := func(key string) bool { return strings.HasPrefix(key, name+" ") }
	testtargets.Need(t, *update || slices.ContainsFunc(slices.Collect(maps.Keys(knownAccuracy(t))), known),
		"the counts of this machine's "+name, "go test ./heuristics -run "+t.Name()+" -update")
	return name
}

// Fewer instructions are compared in make test.
func sparsely(every int) int {
	if testtargets.All() {
		return every
	}
	return 31 * every
}

func TestRulesAgreeWithCallFrameInformationOfLibc(t *testing.T) {
	path := findLibc(t)
	holds(t, installed(t, "libc", path), path, sparsely(11))
}

// The C library for arm64 comes with cross compilers.
func TestRulesAgreeWithCallFrameInformationOnArm64(t *testing.T) {
	path := "/usr/aarch64-linux-gnu/lib/libc.so.6"
	_, err := os.Stat(path)
	testtargets.Need(t, err == nil, "the C library for arm64", testtargets.SetUp)
	holds(t, installed(t, "libc-arm64", path), path, sparsely(23))
}

// functions.c is assembled from what one compiler once made of it, so that no other compiler changes the counts.
func TestRulesAgreeWithTheCompilersFrames(t *testing.T) {
	files, _ := filepath.Glob("testdata/compiled/*.s")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	as, ld := testtargets.NeedProgram(t, "as"), testtargets.NeedProgram(t, "ld")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".s")
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), name)
			for _, command := range [][]string{{as, "--64", "-o", out + ".o", file},
				{ld, "-shared", "-m", "elf_x86_64", "--no-ld-generated-unwind-info", "-o", out + ".so", out + ".o"}} {
				if msg, err := bounded.AllOutput(exec.Command(command[0], command[1:]...)); err != nil {
					testtargets.Need(t, runtime.GOARCH == "amd64", "an assembler for x86-64", testtargets.SetUp)
					t.Fatalf("%v: %s", err, msg)
				}
			}
			holds(t, name, out+".so", 1)
		})
	}
}

var compilerFlags = []string{
	"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-omit-frame-pointer", "-O1 -fno-omit-frame-pointer",
	"-O0 -fomit-frame-pointer",
	"-O2 -fstack-clash-protection", "-O2 -fstack-protector-all", "-O2 -fcf-protection", "-O2 -mavx512f",
}

func compileFunctions(t testing.TB, flags string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "functions.so")
	args := append(strings.Fields(flags), "-shared", "-fPIC", "-o", out, "testdata/functions.c")
	if msg, err := bounded.AllOutput(exec.Command(testtargets.NeedProgram(t, "gcc"), args...)); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	return out
}

// With known bounds each instruction of functions.c has the right rule, whichever compiler is here.
func TestEveryRuleOfAFunctionWithBoundsIsRight(t *testing.T) {
	all := compilerFlags
	if !testtargets.All() {
		all = all[2:3]
	}
	for _, flags := range all {
		t.Run(strings.ReplaceAll(flags, " ", ""), func(t *testing.T) {
			path := compileFunctions(t, flags)
			funcs, code := readCFI(t, path), openCode(t, path)
			for _, caller := range []bool{false, true} {
				if c := judge(t, path, funcs, code, true, 1, caller, 3); c.count[right] != c.total() || c.total() == 0 {
					t.Errorf("caller %v: %v", caller, c)
				}
			}
		})
	}
}

func setting(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

// BenchmarkAccuracy reports the shares of verdicts for the code of this machine: the C library, or the files in
// HEURISTICS_SURVEY (separated by colons). HEURISTICS_EVERY, _SHOW and _CLASS choose instructions and what is shown.
func BenchmarkAccuracy(b *testing.B) {
	list := filepath.SplitList(os.Getenv("HEURISTICS_SURVEY"))
	if len(list) == 0 {
		list = []string{findLibc(b)}
	}
	if s := os.Getenv("HEURISTICS_CLASS"); s != "" {
		showClass = s
	}
	for _, path := range list {
		funcs, code := readCFI(b, path), openCode(b, path)
		for _, k := range queryKinds {
			b.Run(filepath.Base(path)+"/"+strings.ReplaceAll(kindName(k.bounds, k.caller), " ", "-"), func(b *testing.B) {
				var c tally
				for b.Loop() {
					c = judge(b, path, funcs, code, k.bounds, max(setting("HEURISTICS_EVERY"), 1), k.caller,
						setting("HEURISTICS_SHOW"))
				}
				b.ReportMetric(c.share(c.count[right]), "right-%")
				b.ReportMetric(c.share(c.none), "none-%")
				b.ReportMetric(c.share(c.count[wrongCFA]+c.count[wrongReg]), "wrong-%")
				b.ReportMetric(c.share(c.count[unproven]), "unproven-%")
			})
		}
	}
}
