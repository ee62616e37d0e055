// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"cmp"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// A directory with the classes of all programs, for a machine without javac.
const compiledClasses = "ORACLE_JAVA_CLASSES"

// Known.java's run time before it is sampled: emulated machines need more.
const javaWarm = "ORACLE_JAVA_WARM"

func compileJava(t *testing.T, class string) (dir string, source []byte) {
	t.Helper()
	dir = t.TempDir()
	return dir, compileJavaInto(t, dir, class)
}

func compileJavaInto(t testing.TB, dir, class string) (source []byte) {
	t.Helper()
	source, err := testtargets.Source(class + ".java")
	if err != nil {
		t.Fatal(err)
	}
	if from := os.Getenv(compiledClasses); from != "" {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return source
	}
	file := filepath.Join(dir, class+".java")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := bounded.AllOutput(exec.Command(testtargets.NeedProgram(t, "javac"), "--release", "8",
		"-Xlint:-options", "-d", dir, file)); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return source
}

var knownCallers = map[string]string{
	"forever": "main", "top": "forever", "locked": "top", "whole": "locked", "recursive": "whole recursive",
	"viaLambda": "recursive", "apply": "viaLambda", "lambda": "apply", "afterLambda": "lambda", "viaHandle": "afterLambda",
	"viaReflection": "viaHandle", "viaVirtual": "viaReflection", "viaOther": "viaReflection",
	"area":         "viaVirtual viaOther",
	"viaException": "area", "thrower": "viaException", "caught": "viaException", "<init>": "thrower caught <init>",
	"compare": "caught compare", "last": "compare", "work": "*", "<clinit>": "main",
}

const knownDepth = 5

func methodLines(source []byte) map[string][2]int {
	out := map[string][2]int{}
	head := regexp.MustCompile(`^\s+(?:public |static |synchronized )*[\w<>\[\]]+ (\w+)\(.*\{`)
	name, depth, from := "", 0, 0
	for i, line := range strings.Split(string(source), "\n") {
		if m := head.FindStringSubmatch(line); m != nil && (name == "" || m[1] == "compare") &&
			!strings.Contains(line, " new ") {
			name, depth, from = m[1], 0, i+1
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		if name != "" && depth == 0 {
			if was, ok := out[name]; ok {
				out[name] = [2]int{min(was[0], from), max(was[1], i+1)}
			} else {
				out[name] = [2]int{from, i + 1}
			}
			name = ""
		}
	}
	r := out["compare"]
	out["compare"] = [2]int{r[0] - 1, r[1]}
	return out
}

// If moved, the innermost frame may be code that the compiler moved before its call.
func knownFault(s *JavaSampler, lines map[string][2]int, moved bool) string {
	prev, recursive := "", 0
	for i := len(s.Chain) - 1; i >= 0; i-- {
		f := &s.Chain[i]
		if !strings.HasPrefix(f.Function, "Known") || strings.HasPrefix(f.Function, "Known$$Lambda") {
			continue
		}
		name := f.Function[strings.LastIndex(f.Function, ".")+1:]
		if strings.HasPrefix(name, "lambda$") {
			name = "lambda"
			if strings.Contains(f.Function, "$main$") {
				continue
			}
		}
		if prev != "" {
			callers, ok := knownCallers[name]
			if !ok {
				return "the program has no method " + f.Function
			}
			if callers != "*" && !strings.Contains(" "+callers+" ", " "+prev+" ") {
				return f.Function + " was found called by " + prev
			}
		}
		if name == "recursive" {
			recursive++
		}
		deepest := knownDepth
		if moved && i == 0 {
			deepest++
		}
		if name == "viaLambda" && recursive != knownDepth || recursive > deepest {
			return "wrong depth of recursion: " + strconv.Itoa(recursive)
		}
		if r, ok := lines[name]; f.File != "Known.java" || ok && (f.Line < r[0] || f.Line > r[1]) {
			return f.Function + " was found at line " + strconv.Itoa(f.Line) + " of " + f.File
		}
		prev = name
	}
	if prev == "" {
		return "no method of the program in the stack"
	}
	return ""
}

func javaSamples(few int) (n int, all bool) {
	if n, err := strconv.Atoi(os.Getenv("ORACLE_JAVA_SAMPLES")); err == nil {
		return n, true
	}
	return few, false
}

// everyPlace makes C2 record the place of each instruction. A clone of a node keeps the original's place
// (Node::clone: copy_node_notes_to): code before a branch can have the place of a call inlined after it.
const everyPlace = "-XX:+DebugNonSafepoints"

var before21 = regexp.MustCompile(`(^|\D)(8|11|17)\b`)

var javaVariants = []struct {
	name    string
	options []string
	arg     string
}{
	{"reflection by native calls", []string{"-Dsun.reflect.inflationThreshold=1000000000",
		"-Djdk.reflect.useNativeAccessorOnly=true"}, ""},
	{"places everywhere", []string{everyPlace}, ""},
	{"virtual threads", nil, virtual},
	{"not tiered", []string{"-XX:-TieredCompilation"}, ""},
	{"stopped often", []string{"-XX:GuaranteedSafepointInterval=1", "-XX:+SafepointALot"}, ""},
	{"some never compiled", []string{"-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Known::whole",
		"-XX:CompileCommand=exclude,Known::viaVirtual", "-XX:CompileCommand=exclude,Known::caught"}, ""},
	{"much deoptimized", []string{"-XX:+DeoptimizeALot", "-XX:PerMethodTrapLimit=100000",
		"-XX:PerBytecodeTrapLimit=100000"}, ""},
	{"g1", []string{"-XX:-UseSerialGC", "-XX:+UseG1GC"}, ""},
	{"parallel", []string{"-XX:-UseSerialGC", "-XX:+UseParallelGC"}, ""},
	{"z", []string{"-XX:-UseSerialGC", "-XX:+UseZGC"}, ""},
	{"shenandoah", []string{"-XX:-UseSerialGC", "-XX:+UseShenandoahGC"}, ""},
}

func TestJavaStacksMatchTheSourceByName(t *testing.T) {
	samples, all := javaSamples(testtargets.Times(100, 500))
	dir, source := compileJava(t, "Known")
	lines := methodLines(source)
	usual := []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions", "-XX:+IgnoreUnrecognizedVMOptions"}
	list := javas(t)
	variant := 0
	for i, java := range list {
		if !before21.MatchString(filepath.Base(filepath.Dir(filepath.Dir(java)))) {
			variant = i
		}
	}
	for i, java := range list {
		name := filepath.Base(filepath.Dir(filepath.Dir(java)))
		argv := append([]string{java}, usual...)
		for _, mode := range testtargets.First(javaModes) {
			t.Run(name+"/"+mode.name, func(t *testing.T) {
				checkKnown(t, slices.Concat(argv, mode.options, []string{"-cp", dir, "Known"}), samples, lines)
			})
		}
		if !all && (i != variant || !testtargets.All()) {
			continue
		}
		for _, v := range javaVariants {
			if v.arg == virtual && before21.MatchString(name) {
				continue
			}
			t.Run(name+"/"+v.name, func(t *testing.T) {
				checkKnown(t, slices.Concat(argv, v.options, append([]string{"-cp", dir, "Known"}, strings.Fields(v.arg)...)),
					samples, lines)
			})
		}
	}
}

const (
	stepsForSample = 10
	stretchOfSteps = 500
	mostShown      = 3
)

func checkKnown(t *testing.T, argv []string, samples int, lines map[string][2]int) {
	t.Helper()
	warm, err := time.ParseDuration(cmp.Or(os.Getenv(javaWarm), "1500ms"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := StartJava(argv, warm)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Until("Known.forever"); err != nil {
		t.Fatal(err)
	}
	wrong, short, unnamed, freed, named := 0, 0, 0, 0, 0
	types := map[string]int{}
	check := func() {
		if s.Stop != frames.StopRoot {
			if short++; short <= mostShown {
				f := &s.PCs[len(s.PCs)-1]
				t.Logf("%v after %d frames, at %#x in %s", s.Stop, len(s.PCs), f.PC, s.blob(f))
			}
			return
		}
		unnamed, freed, named = unnamed+s.Unnamed, freed+s.Freed, named+len(s.Chain)
		for i := range s.Chain {
			types[s.Chain[i].Type]++
		}
		fault := knownFault(s, lines, slices.Contains(argv, everyPlace))
		if fault == "" {
			return
		}
		if wrong++; wrong <= mostShown {
			var b strings.Builder
			for _, f := range s.Chain {
				b.WriteString("\n    " + f.Function + " (" + f.File + ":" + strconv.Itoa(f.Line) + ") " + f.Type)
			}
			t.Logf("%s; innermost at %#x:%s", fault, s.PCs[0].PC, b.String())
		}
	}
	for range samples {
		if err := s.Sample(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Microsecond) // else the thread would not run between its stops
		check()
	}
	stops, missed := samples, short
	for range samples * stepsForSample / stretchOfSteps {
		if err := s.Steps(stretchOfSteps, func() { stops++; check() }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // to other code
	}
	t.Logf("%d samples, %d steps: %d wrong, %d incomplete; %d frames named, %d without a name, %d freed; %v",
		samples, stops-samples, wrong, short, named, unnamed, freed, types)
	// How many are incomplete, unnamed or freed depends on what the JVM does at the moment of a stop.
	t.Logf("%d incomplete in samples, %d in steps", missed, short-missed)
	if wrong > 0 || named == 0 {
		t.Errorf("%d of the names are wrong, %d are there, want none wrong and some (examples above)", wrong, named)
	}
}

var numberedName = regexp.MustCompile(`^Reuse\$Numbered\.[mk](\d{8})$`)

// Reuse.java makes and drops classes with numbers in the names of their methods. No name may have another number than
// that of the present class.
func TestNamesOfJavaMethodsInReusedMemory(t *testing.T) {
	// Java frames are supported on amd64 only.
	testtargets.Need(t, runtime.GOARCH == "amd64", "amd64", "a machine with such a processor")
	samples, all := javaSamples(300)
	dir, _ := compileJava(t, "Reuse")
	list := javas(t)
	for i, java := range list {
		if !all && i > 0 && i < len(list)-1 {
			continue
		}
		for _, mode := range testtargets.First(javaModes) {
			for _, late := range testtargets.First([]time.Duration{0, 20 * time.Millisecond}) {
				t.Run(filepath.Base(filepath.Dir(filepath.Dir(java)))+"/"+mode.name+"/"+late.String(), func(t *testing.T) {
					argv := append([]string{java, "-Xmx32m", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=8m"}, mode.options...)
					n := samples
					if late > 0 {
						n /= 10
					}
					checkReuse(t, append(argv, "-cp", dir, "Reuse"), n, late)
				})
			}
		}
	}
}

func checkReuse(t *testing.T, argv []string, samples int, late time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "number")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := StartJava(append(argv, file), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.Until("Reuse$Numbered."); err != nil {
		t.Fatal(err)
	}
	number := 0
	s.Late = late
	s.Stopped = func() {
		var b [4]byte
		if _, err := f.ReadAt(b[:], 0); err != nil {
			t.Fatal(err)
		}
		number = int(binary.LittleEndian.Uint32(b[:]))
	}
	right, wrong, freed, classes := 0, 0, 0, map[int]bool{}
	for range samples {
		if err := s.Sample(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Microsecond) // else the thread would not run between its stops
		freed += s.Freed
		for i := range s.Chain {
			m := numberedName.FindStringSubmatch(s.Chain[i].Function)
			if m == nil {
				continue
			}
			if n, _ := strconv.Atoi(m[1]); n != number {
				if wrong++; wrong <= 3 {
					t.Logf("name %s (%s), want the number %d", s.Chain[i].Function, s.Chain[i].Type, number)
				}
				continue
			}
			classes[number] = true
			right++
		}
	}
	t.Logf("%d samples: %d names of %d classes right, %d wrong, %d freed", samples, right, len(classes), wrong, freed)
	if wrong > 0 || right == 0 {
		t.Errorf("%d of the names are wrong, %d right, want none wrong and some right (examples above)", wrong, right)
	}
}
