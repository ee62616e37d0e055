// SPDX-License-Identifier: Apache-2.0

// Command dist builds a release, from a checkout and the Go module proxy alone:
//
//	go run ./dist -root .. -version v1.2.3 -out ../dist      (in tools/; "make dist" does it)
//
// For amd64 and arm64 it writes a static program as a tar archive, a deb, an rpm and an apk package, and one OCI image
// layout for both, with an SBOM (CycloneDX) and the checksums of all files. The same commit and version give the same
// bytes in any directory: all times are those of the commit, or of SOURCE_DATE_EPOCH.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var arches = []string{"amd64", "arm64"}

type release struct {
	root    string
	version string // as git describe writes it: v1.2.3 or v1.2.3-4-gabcdef
	out     string
	work    string
	date    time.Time

	onlyImage bool
}

func main() {
	r := &release{}
	flag.StringVar(&r.root, "root", "..", "the checkout")
	flag.StringVar(&r.version, "version", "", "the version; without it git describe")
	flag.StringVar(&r.out, "out", "", "the directory of the results; without it dist/ in the checkout")
	thirdParty := flag.Bool("third-party", false, "write THIRD_PARTY.md and nothing else")
	flag.BoolVar(&r.onlyImage, "image", false, "write the image layout and nothing else")
	flag.Parse()
	if err := r.run(*thirdParty); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func (r *release) run(thirdParty bool) (err error) {
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "prywalk-dist-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if thirdParty {
		return r.writeThirdParty()
	}
	if err := r.prepare(); err != nil {
		return err
	}
	var programs []program
	for _, arch := range arches {
		p, err := r.build(arch)
		if err != nil {
			return err
		}
		programs = append(programs, p)
	}
	notices, err := r.notices()
	if err != nil {
		return err
	}
	if err := r.image(programs, notices); err != nil || r.onlyImage {
		return err
	}
	shared, err := r.sharedFiles(notices)
	if err != nil {
		return err
	}
	for _, p := range programs {
		files := append([]file{{path: "/usr/bin/prywalk", source: p.path, mode: 0o755}}, shared...)
		if err := r.archive(p.arch, files); err != nil {
			return err
		}
		if err := r.packages(p.arch, files); err != nil {
			return err
		}
	}
	if err := r.sbom(programs); err != nil {
		return err
	}
	return r.checksums()
}

func (r *release) prepare() (err error) {
	if r.version == "" {
		if r.version, err = r.git("describe", "--tags", "--always", "--dirty"); err != nil {
			return err
		}
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		if epoch, err = r.git("log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is %q: a number of seconds is needed", epoch)
	}
	r.date = time.Unix(seconds, 0).UTC()
	if r.out == "" {
		r.out = filepath.Join(r.root, "dist")
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	return os.MkdirAll(r.out, 0o755)
}

// described is git describe's output: the last tag, and the commits since then.
var described = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-\w+\.\d+)?)(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)

func (r *release) base() string {
	if m := described.FindStringSubmatch(r.version); m != nil {
		return m[1]
	}
	return "0.0.0"
}

// number is the version as packages write it: 1.2.3, and behind a tag 1.2.3+4.gabcdef, which sorts after it.
func (r *release) number() string {
	build := r.version
	if m := described.FindStringSubmatch(r.version); m != nil {
		build = ""
		if m[2] != "" {
			build = m[2] + ".g" + m[3]
		}
		build += strings.ReplaceAll(m[4], "-", ".")
	}
	if build = strings.Trim(strings.ReplaceAll(build, "-", "."), "."); build == "" {
		return r.base()
	}
	return r.base() + "+" + build
}

func (r *release) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w; give -version and SOURCE_DATE_EPOCH where there is no git",
			strings.Join(args, " "), r.root, err)
	}
	return strings.TrimSpace(string(out)), nil
}
