// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

var hungFrames = map[string][]string{
	"main":    {"Hung.main at Hung.java"},
	"waiter":  {"waits for monitor java.lang.Object, held by thread MAIN main", "Hung.enter at Hung.java:23"},
	"spinner": {"Hung.spin at Hung.java", "Hung.forever at Hung.java:18"},
}

// jcmd takes a second with a JVM that is not hung.
const jcmdTimeout = 5 * time.Second

// A thread never reaches a safepoint, and another waits for one: the JVM's own thread dump does not come.
func TestDumpOfAHungJVM(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	needJavaFrames(t)
	pid := startHung(t)
	var text string
	eventually(t, "the loop without a safepoint runs", func() bool {
		text = prywalk(t, "dump", "-p", pid).must(t, 0).stdout
		in := blockOf(text, "spinner")
		return strings.Contains(in, "Hung.spin") && strings.Contains(in, "[jvm c2]") &&
			strings.Contains(blockOf(text, "waiter"), "waits for monitor")
	})
	var jcmdOutput bytes.Buffer
	ask := exec.Command("jcmd", pid, "Thread.print")
	ask.Stdout = &jcmdOutput
	if err := ask.Start(); err != nil {
		t.Fatal(err)
	}
	text = prywalk(t, "dump", "-p", pid).must(t, 0).stdout
	number := regexp.MustCompile(`(?m)^thread (\d+) main:`).FindStringSubmatch(text)
	if number == nil {
		t.Fatalf("no thread \"main\" in the dump:\n%s", clip(text))
	}
	for name, frames := range hungFrames {
		rest := blockOf(text, name)
		for _, f := range frames {
			_, after, ok := strings.Cut(rest, strings.ReplaceAll(f, "MAIN", number[1]))
			if !ok {
				t.Errorf("thread %s has no %q in the expected order:\n%s", name, f, blockOf(text, name))
				break
			}
			rest = after
		}
	}
	giveUp := time.AfterFunc(jcmdTimeout, func() { _ = ask.Process.Kill() })
	_ = ask.Wait()
	giveUp.Stop()
	if strings.Contains(jcmdOutput.String(), "Full thread dump") {
		t.Error("jcmd printed a thread dump: the JVM is not hung")
	}
}

func needJavaFrames(t *testing.T) {
	t.Helper()
	testtargets.Need(t, runtime.GOARCH == "amd64", "Java frames", "an amd64 machine")
}

func startHung(t *testing.T) (pid string) {
	t.Helper()
	dir := t.TempDir()
	source, err := testtargets.Source("Hung.java")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "Hung.java")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := bounded.AllOutput(exec.Command(testtargets.NeedProgram(t, "javac"), "-d", dir, file)); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	java := exec.Command(testtargets.NeedProgram(t, "java"), "-Xmx64m", "-XX:+UseSerialGC",
		"-XX:-UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=0", "-XX:-BackgroundCompilation", "-cp", dir, "Hung")
	java.Dir = dir
	testtargets.Ready(t, java)
	return strconv.Itoa(java.Process.Pid)
}

func blockOf(dump, name string) string {
	for _, block := range strings.Split(dump, "\n\n") {
		head, _, _ := strings.Cut(block, "\n")
		if strings.HasPrefix(head, "thread ") && strings.Contains(head, " "+name+":") {
			return block
		}
	}
	return ""
}
