// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		if got := ID(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The files are as the engines write them, without what is not read.
func TestNamesAreReadFromTheFilesOfEachEngine(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	scope := "0::/system.slice/docker-" + id + ".scope\n"
	for name, c := range map[string]struct {
		file, text string
		want       Container
	}{
		"docker": {"/var/lib/docker/containers/" + id + "/config.v2.json",
			`{"StreamConfig":{},"State":{"Running":true,"Pid":7},"ID":"` + id + `","Config":{"Hostname":"0123456789ab",
			"Labels":{"com.docker.compose.project":"shop"}},"Name":"/shop-db-1","Driver":"overlay2"}`,
			Container{ID: id, Name: "shop-db-1"}},
		"docker with userns-remap": {"/var/lib/docker/200000.200000/containers/" + id + "/config.v2.json",
			`{"ID":"` + id + `","Name":"/remapped"}`, Container{ID: id, Name: "remapped"}},
		"docker without root": {filepath.Join(home, ".local/share/docker/containers", id, "config.v2.json"),
			`{"ID":"` + id + `","Name":"/mine"}`, Container{ID: id, Name: "mine"}},
		"podman": {"/var/lib/containers/storage/overlay-containers/containers.json",
			`[{"id":"` + strings.Repeat("f", 64) + `","names":["other"]},{"id":"` + id + `","names":["web"],"image":"",
			"layer":"2470","metadata":"{\"name\":\"web\"}","flags":{"MountLabel":""}}]`, Container{ID: id, Name: "web"}},
		"podman with another storage driver": {"/var/lib/containers/storage/vfs-containers/containers.json",
			`[{"id":"` + id + `","names":["plain"]}]`, Container{ID: id, Name: "plain"}},
		"podman without root": {filepath.Join(home, ".local/share/containers/storage/overlay-containers/containers.json"),
			`[{"id":"` + id + `","names":["mine"]}]`, Container{ID: id, Name: "mine"}},
		"containerd": {"/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + id + "/config.json",
			`{"ociVersion":"1.1.0","annotations":{"io.kubernetes.cri.container-name":"app",
			"io.kubernetes.cri.sandbox-name":"shop-0",
			"io.kubernetes.cri.sandbox-namespace":"prod","io.kubernetes.cri.sandbox-id":"ab"}}`,
			Container{id, "app", "shop-0", "prod"}},
		"nerdctl": {"/run/containerd/io.containerd.runtime.v2.task/default/" + id + "/config.json",
			`{"annotations":{"nerdctl/name":"cache"}}`, Container{ID: id, Name: "cache"}},
		"CRI-O": {"/run/containers/storage/overlay-containers/" + id + "/userdata/config.json",
			`{"annotations":{"io.kubernetes.container.name":"app","io.kubernetes.pod.name":"shop-1",
			"io.kubernetes.pod.namespace":"prod"}}`, Container{id, "app", "shop-1", "prod"}},
		"kubelet": {"/var/log/containers/shop-2_prod_app-" + id + ".log", "", Container{id, "app", "shop-2", "prod"}},
		"host": {"/proc/1/root/var/log/containers/shop-2_prod_app-" + id + ".log", "",
			Container{id, "app", "shop-2", "prod"}},
		"nothing": {"/var/lib/docker/containers/" + strings.Repeat("e", 64) + "/config.v2.json", `{"Name":"/x"}`,
			Container{ID: id}},
		"damaged": {"/var/lib/docker/containers/" + id + "/config.v2.json", `{"Name":`, Container{ID: id}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, c.file, c.text)
			names := Names{Root: root}
			if got := names.Of(scope); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			os.RemoveAll(root)
			if got := names.Of(scope); c.want.Name != "" && got != c.want {
				t.Errorf("read again: %+v, want %+v", got, c.want)
			}
		})
	}
}

// The program ctr takes the id from its user, and makes the group /NAMESPACE/ID.
func TestIDOfContainerdAloneIsTheName(t *testing.T) {
	root := t.TempDir()
	write(t, root, "/run/containerd/io.containerd.runtime.v2.task/default/web/config.json", `{"annotations":{}}`)
	names := Names{Root: root}
	for groups, want := range map[string]Container{
		"0::/default/web\n":                         {ID: "web", Name: "web"},
		"5:cpu:/default/web/inner\n0::/\n":          {ID: "web", Name: "web"},
		"0::/default/other\n":                       {},
		"0::/default\n":                             {},
		"0::/../default/web\n":                      {},
		"0::/other/web\n":                           {},
		"0::/default/web/docker-" + id + ".scope\n": {ID: id},
	} {
		if got := names.Of(groups); got != want {
			t.Errorf("%q: %+v, want %+v", groups, got, want)
		}
	}
}

func write(t *testing.T, root, file, text string) {
	t.Helper()
	file = filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A container's owner could otherwise make prywalk wait for ever, or read another file.
func TestAStateFileThatIsAPipeOrALinkOutsideIsNotRead(t *testing.T) {
	root := t.TempDir()
	file := "/var/lib/docker/containers/" + id + "/config.v2.json"
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(`{"Name":"/outside"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, root, file, "")
	os.Remove(filepath.Join(root, file))
	if err := os.Symlink(outside, filepath.Join(root, file)); err != nil {
		t.Fatal(err)
	}
	names := Names{Root: root}
	if got := names.Of("0::/docker/" + id + "\n"); got.Name != "" {
		t.Errorf("%+v", got)
	}
}

func TestNameOrBeginningOfTheIDSelects(t *testing.T) {
	c := Container{id, "app", "shop-0", "prod"}
	for text, want := range map[string]bool{"app": true, id: true, id[:4]: true, "ap": false, "f": false} {
		if c.HasName(text) != want {
			t.Errorf("HasName(%q) is %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"shop-0": true, "prod/shop-0": true, "test/shop-0": false, "shop": false} {
		if c.InPod(text) != want {
			t.Errorf("InPod(%q) is %v", text, !want)
		}
	}
	if none := (Container{}); none.HasName("") || none.InPod("") || none.InPod("/") {
		t.Error("what is in no container is selected")
	}
	if text := c.String(); text != "app (0123456789ab) of pod prod/shop-0" {
		t.Error(text)
	}
}
