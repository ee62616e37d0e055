// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

// startContainer runs a static program in a container of podman and runc, and returns its id.
func startContainer(t *testing.T, root, name string) (id string) {
	t.Helper()
	podman := engines[0]
	out, err := exec.Command(podman.program, append(slices.Clone(podman.run),
		"-d", "--name", name, "--rootfs", root, "/server")...).CombinedOutput()
	t.Cleanup(func() { _ = exec.Command("podman", "rm", "-f", "-t", "0", name).Run() })
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Fields(string(out))
	return lines[len(lines)-1]
}

func TestContainersOfARealEngineAreSelectedByName(t *testing.T) {
	testtargets.OnlyInAll(t, "starts containers")
	needRoot(t, "start containers")
	testtargets.NeedProgram(t, "podman")
	testtargets.NeedProgram(t, "runc")
	dir := scratch(t, nil)
	root := filepath.Join(dir, "root")
	for _, name := range []string{"proc", "sys", "dev", "etc", "tmp", "run"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyProgram(t, serverProgram(t), root+"/server")
	one := "prywalk-test-" + filepath.Base(dir)
	id := startContainer(t, root, one)
	other := startContainer(t, root, one+"-b")

	for _, by := range []string{one, id, id[:20]} {
		file := filepath.Join(dir, "by.pb.gz")
		prywalk(t, "record", "--container", by, "-d", "1", "-o", file).must(t, 0)
		for _, s := range readProfile(t, file).Sample {
			if s.Label["container.id"][0] != id || s.Label["container.name"][0] != one {
				t.Fatalf("--container %s: labels %v", by, s.Label)
			}
		}
		var d struct {
			Threads []struct{ Name string }
		}
		dump := prywalk(t, "dump", "--json", "--container", by).must(t, 0).stdout
		if err := json.Unmarshal([]byte(dump), &d); err != nil || len(d.Threads) != 2 {
			t.Errorf("--container %s: %v, %d threads, want 2 of one process\n%s", by, err, len(d.Threads), clip(dump))
		}
	}
	file := filepath.Join(dir, "both.pb.gz")
	prywalk(t, "record", "-a", "--match", "^server$", "-d", "1", "-o", file).must(t, 0)
	table := prywalk(t, "report", "--by", "label:container.name", "--value", "wall", file).must(t, 0).stdout
	if !strings.Contains(table, one+"\n") && !strings.Contains(table, one+" ") || !strings.Contains(table, one+"-b") {
		t.Errorf("the groups lack a container:\n%s", table)
	}
	prefix := 0
	for id[prefix] == other[prefix] {
		prefix++
	}
	if prefix > 0 {
		r := prywalk(t, "dump", "--container", id[:prefix]).must(t, 2)
		if !strings.Contains(r.stderr, one+" (") || !strings.Contains(r.stderr, one+"-b (") {
			t.Errorf("the list of those selected: %s", r.stderr)
		}
	}
	r := prywalk(t, "dump", "--container", "no-such-name").must(t, 1)
	if !strings.Contains(r.stderr, one+" ("+id[:12]+")") {
		t.Errorf("the list of containers: %s", r.stderr)
	}
	if r := prywalk(t, "dump", "--pod", "no-such-pod").must(t, 1); !strings.Contains(r.stderr, "--pod no-such-pod") {
		t.Error(r.stderr)
	}
}
