// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"prywalk/internal/testtargets"
)

const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestContainersAreFoundInTheirControlGroups(t *testing.T) {
	for text, want := range map[string]string{
		"0::/system.slice/docker-" + id + ".scope\n":                               id,
		"12:cpu,cpuacct:/docker/" + id + "\n0::/\n":                                id,
		"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope\n": id,
		"0::/kubepods/burstable/pod1/" + id + "\n":                                 id,
		"0::/machine.slice/libpod-" + id + ".scope/container\n":                    id,
		"0::/kubepods.slice/x.slice:cri-containerd:" + id + "\n":                   id,
		"0::/user.slice/user-1000.slice/session-2.scope\n":                         "",
		"0::/" + id[:63] + "\n":                                                    "",
		"0::/a" + id + "\n":                                                        "",
		"":                                                                         "",
		"0:/" + id:                                                                 "",
	} {
		if got := containerID(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestServiceIsNamedByTheEnvironmentOnlyIfAsked(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo ready; read x")
	cmd.Env = append(os.Environ(), "OTEL_SERVICE_NAME=shop",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=other,a=b%2Cc,process.pid=1,=x,bad")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	testtargets.Ready(t, cmd)
	of := func(o ResourceOptions) map[string]any {
		out := map[string]any{}
		for _, a := range newResources(o).attributesOf(cmd.Process.Pid, "sh") {
			if _, ok := out[a.key]; ok {
				t.Errorf("%s is twice", a.key)
			}
			out[a.key] = a.value
		}
		return out
	}
	for want, o := range map[string]ResourceOptions{
		"unknown_service:sh": {}, "shop": {Environment: true}, "flag": {Environment: true, Service: "flag"},
	} {
		got := of(o)
		if got["service.name"] != want {
			t.Errorf("%+v: %v", o, got)
		}
		exe, _ := filepath.EvalSymlinks("/bin/sh")
		if got["process.pid"] != int64(cmd.Process.Pid) || got["process.executable.path"] != exe {
			t.Errorf("%v", got)
		}
		if want == "shop" && got["a"] != "b,c" {
			t.Errorf("%v", got)
		}
	}
}

// TestEndedProcessKeepsWhatWasReadOfIt until no window has it.
func TestEndedProcessKeepsWhatWasReadOfIt(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo ready; read x")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	testtargets.Ready(t, cmd)
	pid := cmd.Process.Pid
	r := newResources(ResourceOptions{})
	r.readLater(pid)
	r.read(<-r.toRead)
	testtargets.Kill(cmd)
	r.dropEnded(map[int]bool{pid: true})
	if list := r.attributesOf(pid, "sh"); !hasKey(list, "process.executable.path") {
		t.Errorf("%v", list)
	}
	r.dropEnded(map[int]bool{})
	if len(r.known) != 0 {
		t.Errorf("%v", maps.Collect(maps.All(r.known)))
	}
}

func FuzzEnvironment(f *testing.F) {
	f.Add([]byte("A=b\x00OTEL_RESOURCE_ATTRIBUTES=a=b,c=%zz,=,\x00OTEL_SERVICE_NAME=\xff"), "0::/docker-"+id+".scope")
	f.Fuzz(func(t *testing.T, env []byte, groups string) {
		if n := len(fromEnvironment(env)); n > mostAttributes {
			t.Errorf("%d attributes", n)
		}
		got := containerID(groups)
		if got != "" && (len(got) != 64 || !utf8.ValidString(got) || !strings.Contains(groups, got)) {
			t.Errorf("%q", got)
		}
	})
}
