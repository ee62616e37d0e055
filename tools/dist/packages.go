// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // registers the format
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// formats differ in the directory for zsh functions.
var formats = []struct{ name, zsh string }{
	{"deb", "/usr/share/zsh/vendor-completions/_prywalk"},
	{"rpm", "/usr/share/zsh/site-functions/_prywalk"},
	{"apk", "/usr/share/zsh/site-functions/_prywalk"},
}

const description = `Sampling profiler and stack walker for Linux processes
 prywalk reads the call stacks of all threads of other processes from outside:
 nothing is loaded into them and they need no restart. One recording shows CPU
 time, time queued for a processor, and what sleeping threads wait for.`

func (r *release) packages(arch string, content []file) error {
	for _, format := range formats {
		version := r.number()
		if format.name == "apk" {
			version = r.base() // apk has no form for the commits since a tag
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "prywalk", Arch: arch, Platform: "linux", Version: version, Section: "devel", Priority: "optional",
			Maintainer: "the prywalk authors <prywalk@localhost>", Description: description, License: "Apache-2.0",
			MTime: r.date, DisableGlobbing: true,
			Overridables: nfpm.Overridables{
				Contents: r.contents(content, format.name, format.zsh),
				RPM:      nfpm.RPM{Summary: "Sampling profiler and stack walker for Linux processes", BuildHost: "localhost"},
			},
		})
		if err := r.writePackage(format.name, info); err != nil {
			return fmt.Errorf("%s for %s: %w", format.name, arch, err)
		}
	}
	return nil
}

func (r *release) writePackage(format string, info *nfpm.Info) error {
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := packager.Package(info, out); err != nil {
		return err
	}
	return out.Close()
}

func (r *release) contents(content []file, format, zsh string) (all files.Contents) {
	for _, f := range content {
		path := f.path
		if path == agentUnit && format == "apk" {
			continue
		}
		if filepath.Base(path) == "_prywalk" {
			path = zsh
		}
		all = append(all, &files.Content{Source: f.source, Destination: path,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.date}})
	}
	return all
}
