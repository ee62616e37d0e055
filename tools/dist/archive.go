// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// compress writes neither name nor time.
func compress(content []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = z.Write(content)
	_ = z.Close()
	return b.Bytes()
}

func (r *release) archive(arch string, files []file) error {
	base := fmt.Sprintf("prywalk_%s_linux_%s", r.number(), arch)
	tarred, err := r.tar(files, func(path string) string { return base + "/" + strings.TrimPrefix(path, "/usr/") })
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, base+".tar.gz"), compress(tarred), 0o644)
}

func (r *release) tar(files []file, name func(path string) string) ([]byte, error) {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.path, b.path) })
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range sorted {
		content, err := os.ReadFile(f.source)
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name(f.path), Size: int64(len(content)),
			Mode: int64(f.mode), ModTime: r.date, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func (r *release) checksums() error {
	var lines strings.Builder
	err := filepath.WalkDir(r.out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.out, path)
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), name)
		return err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(lines.String()), 0o644)
}
