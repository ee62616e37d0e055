// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var date = time.Unix(1_700_000_000, 0).UTC()

func buildRelease(t *testing.T) *release {
	t.Helper()
	dir := t.TempDir()
	copied := filepath.Join(dir, "checkout")
	files := run(t, "git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard")
	for name := range strings.Lines(files) {
		name = strings.TrimSpace(name)
		content, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // removed and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(copied, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	r := &release{root: copied, version: "v0.1.0", out: filepath.Join(dir, "out")}
	if err := r.run(false); err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestVersionsSortAfterTheTagThatTheyFollow(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                    "1.2.3",
		"v1.2.3-rc.1":               "1.2.3-rc.1",
		"v1.2.3-4-gabcdef0":         "1.2.3+4.gabcdef0",
		"v1.2.3-4-gabcdef0-dirty":   "1.2.3+4.gabcdef0.dirty",
		"v1.2.3-dirty":              "1.2.3+dirty",
		"abcdef0":                   "0.0.0+abcdef0",
		"abcdef0-dirty":             "0.0.0+abcdef0.dirty",
		"":                          "0.0.0",
		"v1.2.3-rc.1-4-gabcdef0":    "1.2.3-rc.1+4.gabcdef0",
		"some-branch-v1-4-gabcdef0": "0.0.0+some.branch.v1.4.gabcdef0",
	} {
		if got := (&release{version: version}).number(); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func TestThirdPartyListsWhatIsLinked(t *testing.T) {
	want, err := (&release{root: "../.."}).thirdParty()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../THIRD_PARTY.md")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("THIRD_PARTY.md is not what make third-party writes (%v)", err)
	}
}

func TestLicencesAreRecognised(t *testing.T) {
	if got := recognise("do what you like"); got != "" {
		t.Errorf("an unknown licence is called %s", got)
	}
	text := "Copyright (c) 2012 A. Author\nPermission is hereby granted, free of charge, to any\nperson obtaining a copy"
	if got := recognise(text); got != "MIT" {
		t.Errorf("MIT is called %q", got)
	}
	if got := holders(text + "\n   Copyright [yyyy] [name of copyright owner]"); len(got) != 1 {
		t.Errorf("holders: %q", got)
	}
}

func TestReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two releases")
	}
	first := buildRelease(t)
	t.Run("are the same bytes in each directory", func(t *testing.T) {
		second := buildRelease(t)
		sums := func(r *release) string {
			text, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if a, b := sums(first), sums(second); a != b || strings.Count(a, "\n") < 10 {
			t.Errorf("two builds differ:\n%s\n%s", a, b)
		}
	})
	t.Run("hold no time but the commit's", func(t *testing.T) {
		list := run(t, "tar", "--utc", "--full-time", "-tvzf", first.file(t, "*_linux_"+runtime.GOARCH+".tar.gz"))
		for line := range strings.Lines(list) {
			if !strings.Contains(line, date.Format("2006-01-02 15:04:05")) {
				t.Errorf("another time: %s", line)
			}
		}
	})
	t.Run("install from the deb in a fresh Debian", func(t *testing.T) { debInAFreshRoot(t, first) })
	t.Run("install from the rpm", func(t *testing.T) { rpmInARoot(t, first) })
	t.Run("install from the apk", func(t *testing.T) { apkInARoot(t, first) })
	t.Run("have an image for each architecture", func(t *testing.T) { imageRuns(t, first) })
}

func (r *release) file(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(r.out, pattern))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %q (%v)", pattern, names, err)
	}
	return names[0]
}
