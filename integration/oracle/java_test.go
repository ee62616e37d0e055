// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

var javaRuntimes = []string{"/usr/lib/jvm/*/bin/java", "/usr/local/lib/jvm/java-*/bin/java"}

// Code is compiled early and kept, and no periodic safepoints stop the threads.
var javaModes = []struct {
	name    string
	options []string
}{
	{"c2", nil},
	{"c1", []string{"-XX:TieredStopAtLevel=1"}},
	{"int", []string{"-Xint"}},
}

const javaTime = 45 * time.Second

// ORACLE_JAVA_ONLY selects runtimes by a part of their directory.
func TestJavaWalksAreExactAtEveryInstruction(t *testing.T) {
	// Java frames are supported on amd64 only.
	testtargets.Need(t, runtime.GOARCH == "amd64", "amd64", "a machine with such a processor")
	list := javas(t)
	limit := testtargets.Times(3*time.Second, javaTime)
	if s := os.Getenv("ORACLE_JAVA_TIME"); s != "" {
		var err error
		if limit, err = time.ParseDuration(s); err != nil {
			t.Fatalf("ORACLE_JAVA_TIME: %v", err)
		}
	}
	dir := t.TempDir()
	compileJavaInto(t, dir, "Work")
	var all JavaTally
	modes := testtargets.First(javaModes)
	each := limit / time.Duration(len(list)*len(modes))
	for _, java := range list {
		name := filepath.Base(filepath.Dir(filepath.Dir(java)))
		for _, mode := range modes {
			t.Run(name+"/"+mode.name, func(t *testing.T) {
				stepJava(t, name+" "+mode.name, java, dir, "Work", mode.options, each, &all)
			})
		}
	}
	var b strings.Builder
	all.Write(&b)
	t.Log("\n" + b.String())
}

const ranBefore = time.Second

const stepTime = time.Second

func TestJavaWalksFromLinkedMethodsAreExact(t *testing.T) { stepAll(t, "Linked", []string{"-Xint"}) }

func TestJavaWalksFromInterpreterMathEntriesAreExact(t *testing.T) {
	stepAll(t, "Work", plainMath)
}

func stepAll(t *testing.T, class string, options []string) {
	// Java frames are supported on amd64 only.
	testtargets.Need(t, runtime.GOARCH == "amd64", "amd64", "a machine with such a processor")
	testtargets.OnlyInAll(t, "more code of the JVM")
	dir := t.TempDir()
	compileJavaInto(t, dir, class)
	var all JavaTally
	for _, java := range javas(t) {
		name := filepath.Base(filepath.Dir(filepath.Dir(java)))
		t.Run(name, func(t *testing.T) { stepJava(t, name, java, dir, class, options, stepTime, &all) })
	}
	var b strings.Builder
	all.Write(&b)
	t.Log("\n" + b.String())
}

var plainMath = []string{"-XX:TieredStopAtLevel=1", "-XX:DisableIntrinsic=_dsin,_dcos,_dpow,_dexp,_dlog,_dtan",
	"-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,java.lang.Math::*"}

func javas(t *testing.T) (list []string) {
	seen := map[string]bool{}
	for _, pattern := range javaRuntimes {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, java := range found {
			file, err := filepath.EvalSymlinks(java)
			if err == nil && !seen[file] && strings.Contains(java, os.Getenv("ORACLE_JAVA_ONLY")) {
				seen[file] = true
				list = append(list, java)
			}
		}
	}
	testtargets.Need(t, len(list) > 0, "java", testtargets.SetUp)
	t.Logf("Java runtimes: %v", list)
	return testtargets.First(list)
}

var javaOptions = []string{"-Xmx256m", "-XX:CompileThresholdScaling=0.01", "-XX:-MethodFlushing",
	"-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0", "-XX:+IgnoreUnrecognizedVMOptions"}

func stepJava(t *testing.T, mode, java, dir, class string, options []string, d time.Duration, all *JavaTally) {
	warm := min(8*time.Second, d/3)
	argv := append(append(append([]string{java}, javaOptions...), options...), "-cp", dir, class, "36000")
	opt := JavaOptions{
		Warm: warm, Ran: ranBefore, Steps: 1 << 40, Until: time.Now().Add(d), Stretch: 1500, Seed: uint64(len(mode)),
		Log: t.Logf, Show: 2,
	}
	if err := RunJava(mode, argv, opt, all); err != nil {
		t.Fatal(err)
	}
	n, right, shorts, wrongs := all.Checked(mode)
	t.Logf("%d walks: %d right, %d incomplete, %d wrong", n, right, shorts, wrongs)
	if wrongs > 0 || right == 0 {
		t.Errorf("%d walks: %d right, %d incomplete, %d wrong; want none wrong, and some right", n, right, shorts, wrongs)
	}
}
