// SPDX-License-Identifier: Apache-2.0

// Command kubernetes decodes manifests strictly by the types of Kubernetes's own API. It reads YAML documents from
// standard input and writes the kind and the container names of each.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

func main() {
	log.SetFlags(0)
	r := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	for {
		text, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = check(text)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

func check(text []byte) error {
	var of struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := strict.Unmarshal(text, &of); err != nil {
		return err
	}
	var pod *core.PodSpec
	var into any
	switch of.APIVersion + " " + of.Kind {
	case "apps/v1 DaemonSet":
		d := &apps.DaemonSet{}
		into, pod = d, &d.Spec.Template.Spec
	case "v1 Pod":
		p := &core.Pod{}
		into, pod = p, &p.Spec
	default:
		return fmt.Errorf("%s %s: no type for it here", of.APIVersion, of.Kind)
	}
	if err := strict.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("%s: %w", of.Kind, err)
	}
	if d, ok := into.(*apps.DaemonSet); ok {
		for key, value := range d.Spec.Selector.MatchLabels {
			if d.Spec.Template.Labels[key] != value {
				return fmt.Errorf("the selector's %s is not a label of the template", key)
			}
		}
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	fmt.Print(of.Kind)
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				return fmt.Errorf("%s: the volume %s is not there", c.Name, m.Name)
			}
		}
		fmt.Print(" ", c.Name)
	}
	fmt.Println()
	return nil
}
