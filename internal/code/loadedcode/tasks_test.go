// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os/exec"
	"testing"

	"prywalk/internal/testtargets"
)

func TestTasksOfGoProgramsAreFound(t *testing.T) {
	const source = "../../testtargets/src/gostacks/main.go"
	exe := testtargets.Compiled{
		Name: "gostacks", Sources: []string{source, "../../../go.mod"}, Command: []string{"go", "build", "-o", "OUT", source},
	}.Build(t)
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	list := p.Runtimes().TaskOffsets()
	if len(list) != 1 {
		t.Fatalf("tasks of %d runtimes, want 1", len(list))
	}
	was := list[0]
	if was.SavedSP == 0 || was.CurrentTask == 0 || was.TaskSize < int(was.SavedSP)+8 {
		t.Fatalf("layout of tasks %+v", was)
	}
	if _, err := p.Refresh(); err != nil {
		t.Fatal(err)
	}
	if is := p.Runtimes().TaskOffsets(); len(is) != 1 || *is[0] != *was {
		t.Errorf("layout of tasks after a Refresh %+v, want %+v", is, was)
	}
	other := exec.Command("cat")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = other.Wait() }()
	q, err := Open(other.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if got := q.Runtimes().TaskOffsets(); len(got) > 0 {
		t.Errorf("cat has tasks: %+v, want none", got)
	}
}
