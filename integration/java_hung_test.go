// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
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
)

var hungFrames = map[string][]string{
	"main":    {"Hung.main at Hung.java"},
	"waiter":  {"waits for monitor java.lang.Object, held by thread MAIN main", "Hung.enter at Hung.java:23"},
	"spinner": {"Hung.spin at Hung.java", "Hung.forever at Hung.java:18"},
}

// machinesTime is how long the machine itself may take to answer. One that does not hang takes a second.
const machinesTime = 5 * time.Second

// TestDumpOfAJavaMachineThatDoesNotAnswer: a thread never reaches a safepoint, and another waits for one. The machine's
// own thread dump does not come any more. prywalk's has all threads by name, their Java frames and who has the monitor.
func TestDumpOfAJavaMachineThatDoesNotAnswer(t *testing.T) {
	realPrograms(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("Java's code is known on amd64 only")
	}
	pid := startHung(t)
	var text string
	eventually(t, "the loop runs in which nobody can stop it", func() bool {
		text = prywalk(t, "dump", "-p", pid).must(t, 0).stdout
		in := blockOf(text, "spinner")
		return strings.Contains(in, "Hung.spin") && strings.Contains(in, "[jvm c2]")
	})
	var machines bytes.Buffer
	ask := exec.Command("jcmd", pid, "Thread.print")
	ask.Stdout = &machines
	if err := ask.Start(); err != nil {
		t.Fatal(err)
	}
	text = prywalk(t, "dump", "-p", pid).must(t, 0).stdout
	number := regexp.MustCompile(`(?m)^thread (\d+) main:`).FindStringSubmatch(text)
	if number == nil {
		t.Fatalf("no thread main:\n%s", clip(text))
	}
	for name, frames := range hungFrames {
		rest := blockOf(text, name)
		for _, f := range frames {
			_, after, ok := strings.Cut(rest, strings.ReplaceAll(f, "MAIN", number[1]))
			if !ok {
				t.Errorf("%s has no %q in its place:\n%s", name, f, blockOf(text, name))
				break
			}
			rest = after
		}
	}
	giveUp := time.AfterFunc(machinesTime, func() { _ = ask.Process.Kill() })
	_ = ask.Wait()
	giveUp.Stop()
	if strings.Contains(machines.String(), "Full thread dump") {
		t.Error("the machine has answered: it does not hang")
	}
}

// startHung starts Hung.java, and gives its number when it is about to hang: one thread collects memory all the time.
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
	if out, err := exec.Command("javac", "-d", dir, file).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	java := exec.Command("java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:-UseCountedLoopSafepoints",
		"-XX:LoopStripMiningIter=0", "-XX:-BackgroundCompilation", "-cp", dir, "Hung")
	java.Dir = dir // jcmd leaves a file there of a machine that does not answer
	stdout, err := java.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = java.Process.Kill()
		_ = java.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
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
