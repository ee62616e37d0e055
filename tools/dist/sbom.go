// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

func (r *release) sbom(programs []program) error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	licences := map[string]string{}
	for _, m := range modules {
		licences[m.path] = m.licence
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.date.Format("2006-01-02T15:04:05Z"),
		Component: &cyclonedx.Component{BOMRef: "prywalk", Type: cyclonedx.ComponentTypeApplication, Name: "prywalk",
			Version: r.number(), Licenses: licence("Apache-2.0")},
	}
	var components []cyclonedx.Component
	listed := map[string]bool{}
	for _, p := range programs {
		content, err := os.ReadFile(p.path)
		if err != nil {
			return err
		}
		components = append(components, cyclonedx.Component{BOMRef: "file:" + p.arch, Type: cyclonedx.ComponentTypeFile,
			Name: "/usr/bin/prywalk", Description: "linux/" + p.arch, Hashes: &[]cyclonedx.Hash{
				{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(content))}}})
		info, err := buildinfo.ReadFile(p.path)
		if err != nil {
			return fmt.Errorf("what %s was linked from: %w", p.path, err)
		}
		add := func(path, version string) {
			ref := "pkg:golang/" + path + "@" + version
			if listed[ref] {
				return
			}
			listed[ref] = true
			components = append(components, cyclonedx.Component{BOMRef: ref, PackageURL: ref,
				Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, Licenses: licence(licences[path])})
		}
		for _, m := range info.Deps {
			add(m.Path, m.Version)
		}
		add("std", info.GoVersion)
	}
	bom.Components = &components
	out, err := os.Create(filepath.Join(r.out, "prywalk_"+r.number()+".cdx.json"))
	if err != nil {
		return err
	}
	defer out.Close()
	encoder := cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.Encode(bom); err != nil {
		return err
	}
	return out.Close()
}

func licence(spdx string) *cyclonedx.Licenses {
	if spdx == "" {
		return nil
	}
	return &cyclonedx.Licenses{{Expression: spdx}}
}
