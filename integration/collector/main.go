// SPDX-License-Identifier: Apache-2.0

// Command collector is an OpenTelemetry Collector with an exporter that checks profiles and adds them up. It takes a
// configuration file and writes a line of JSON per message.
package main

import (
	"context"
	"log"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: collector CONFIGURATION")
	}
	if err := featuregate.GlobalRegistry().Set("service.profilesSupport", true); err != nil {
		log.Fatal(err)
	}
	c, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "test"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: os.Args[1:], ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func factories() (f otelcol.Factories, err error) {
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	sums := xexporter.NewFactory(component.MustNewType("sums"), func() component.Config { return &config{} },
		xexporter.WithProfiles(newSums, component.StabilityLevelDevelopment))
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](sums)
	f.Telemetry = telemetry.NewFactory(func() component.Config { return &struct{}{} })
	return f, err
}
