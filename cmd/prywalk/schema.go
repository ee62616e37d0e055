// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"prywalk/docs"
	"prywalk/internal/base/errs"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "print the JSON Schema of an output, or the names of all",
		Long: `  prywalk schema
  prywalk schema dump

Prints the JSON Schema (draft 2020-12) of what a command writes as JSON, such as dump
--json. Without a name, lists the names. Every object begins with "schema_version".`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errs.Usage("schema takes one name, not %d; prywalk schema lists them", len(args))
			}
			if len(args) == 0 {
				_, err := io.WriteString(cmd.OutOrStdout(), strings.Join(schemaNames(), "\n")+"\n")
				return err
			}
			text, err := docs.Schemas.ReadFile("schema/" + args[0] + ".json")
			if err != nil {
				return errs.Usage("no schema %q; choose %s", args[0], joinWords(schemaNames()))
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
}

func schemaNames() (names []string) {
	files, _ := fs.Glob(docs.Schemas, "schema/*.json")
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".json"))
	}
	return names
}
