// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func needRoot(t *testing.T, tools ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to install packages: sudo make test-dist")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is missing: make setup-all installs it", tool)
		}
	}
}

func debInAFreshRoot(t *testing.T, r *release) {
	needRoot(t, "debootstrap", "chroot")
	root := freshDebian(t)
	run(t, "cp", r.file(t, "*_"+runtime.GOARCH+".deb"), filepath.Join(root, "prywalk.deb"))
	before := listing(t, root)
	sh := func(script string) string { t.Helper(); return run(t, "chroot", root, "sh", "-ec", script) }
	sh("dpkg -i /prywalk.deb")
	if out := sh("prywalk version"); !strings.Contains(out, "prywalk v0.1.0 ") {
		t.Errorf("version: %s", out)
	}
	sh("cd /tmp && prywalk record -d 2 -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'")
	if out := sh("cd /tmp && prywalk report -n 5"); !strings.Contains(out, "function (cpu)") {
		t.Errorf("report: %s", out)
	}
	if out := sh("MANPAGER=cat man prywalk-record"); !strings.Contains(out, "EXAMPLE") {
		t.Errorf("man prywalk-record: %s", out)
	}
	if out := sh("zcat /usr/share/man/man1/prywalk*.1.gz"); strings.Contains(out, `\n`) || strings.Count(out, "\n.TH ") < 10 {
		t.Errorf(`manual pages: want at least ten, none with \n in its text: %s`, out)
	}
	if out := sh("bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader prywalk; " +
		"complete -p prywalk'"); !strings.Contains(out, "prywalk") {
		t.Errorf("completion: %s", out)
	}
	sh("rm -f /tmp/prywalk.pb.gz* && dpkg -P prywalk")
	if after := listing(t, root); after != before {
		t.Errorf("after the removal:\n%s\nbefore the installation:\n%s", after, before)
	}
}

func freshDebian(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	run(t, "debootstrap", "--variant=minbase", "--include=man-db,bash-completion", "bookworm", root)
	run(t, "rm", "-f", filepath.Join(root, "etc/dpkg/dpkg.cfg.d/docker"))
	run(t, "mount", "-t", "proc", "proc", filepath.Join(root, "proc"))
	t.Cleanup(func() { run(t, "umount", filepath.Join(root, "proc")) })
	return root
}

func listing(t *testing.T, root string) string {
	t.Helper()
	return run(t, "find", filepath.Join(root, "usr"), filepath.Join(root, "etc"), filepath.Join(root, "opt"), "-not", "-type", "d")
}

func rpmInARoot(t *testing.T, r *release) {
	needRoot(t, "rpm")
	root, arch := t.TempDir(), map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	path := r.file(t, "*."+arch+".rpm")
	run(t, "rpm", "--root", root, "--initdb")
	run(t, "rpm", "--root", root, "--nodeps", "--nosignature", "-i", path)
	installed(t, root)
	run(t, "rpm", "--root", root, "-V", "prywalk")
	run(t, "rpm", "--root", root, "-e", "prywalk")
	gone(t, root)
}

// An apk is three gzip streams: the signature, control data, and files.
func apkInARoot(t *testing.T, r *release) {
	root, arch := t.TempDir(), map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	content, err := os.ReadFile(r.file(t, "*_"+arch+".apk"))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	info := ""
	for archive := tar.NewReader(stream); ; { // the streams follow each other as one archive
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case header.Name == ".PKGINFO":
			info = string(text)
		case header.Typeflag == tar.TypeReg:
			path := filepath.Join(root, header.Name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, header.FileInfo().Mode()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, line := range []string{"pkgname = prywalk\n", "pkgver = 0.1.0\n", "arch = " + arch + "\n", "license = Apache-2.0\n"} {
		if !strings.Contains(info, line) {
			t.Errorf(".PKGINFO lacks %q:\n%s", line, info)
		}
	}
	installed(t, root)
}

func installed(t *testing.T, root string) {
	t.Helper()
	if out := run(t, filepath.Join(root, "usr/bin/prywalk"), "version"); !strings.Contains(out, "prywalk v0.1.0 ") {
		t.Errorf("version: %s", out)
	}
	for _, path := range []string{"usr/share/man/man1/prywalk-record.1.gz", "usr/share/doc/prywalk/copyright",
		"usr/share/zsh/site-functions/_prywalk", "usr/share/bash-completion/completions/prywalk"} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error(err)
		}
	}
}

func gone(t *testing.T, root string) {
	t.Helper()
	if left := run(t, "find", filepath.Join(root, "usr"), "-type", "f", "-not", "-path", "*/rpm/*"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// asDebugContainer has the image's root, in the pid namespace of a process of another root.
func asDebugContainer(t *testing.T, root, program string) {
	t.Helper()
	needRoot(t, "unshare", "chroot")
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "mount -t proc proc /proc; mount -t proc proc " + root + "/proc; sleep 60 & chroot " + root + " " + program +
		" dump -p $!"
	if out := run(t, "unshare", "--pid", "--fork", "--mount", "sh", "-ec", script); !strings.Contains(out, "nanosleep") {
		t.Errorf("dump of a neighbour: %s", out)
	}
}

func imageRuns(t *testing.T, r *release) {
	path, err := layout.FromPath(filepath.Join(r.out, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]v1.Hash{}
	for _, m := range manifest.Manifests {
		seen[m.Platform.Architecture] = m.Digest
	}
	if len(seen) != len(arches) {
		t.Fatalf("architectures: %v", seen)
	}
	image, err := index.Image(seen[runtime.GOARCH])
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil || len(config.Config.Entrypoint) != 1 {
		t.Fatalf("%+v (%v)", config, err)
	}
	root := t.TempDir()
	extract := exec.Command("tar", "-x", "-C", root)
	extract.Stdin = mutate.Extract(image)
	if out, err := extract.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out := run(t, filepath.Join(root, config.Config.Entrypoint[0]), "version"); !strings.Contains(out, "v0.1.0") {
		t.Errorf("version: %s", out)
	}
	asDebugContainer(t, root, config.Config.Entrypoint[0])
	text, err := json.Marshal(manifest)
	if err != nil || !strings.Contains(string(text), "oci.image") {
		t.Errorf("%s (%v)", text, err)
	}
}
