package main

import (
	"io"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"
)

// sbom writes the bill of materials of a program in the form of CycloneDX: Go and each module that is compiled into it.
func (r release) sbom(p program) error {
	generator, err := bin.NewGenerator(p.path, bin.WithIncludeStdlib(true), bin.WithVersionOverride(r.version),
		bin.WithLogger(zerolog.Nop()))
	if err != nil {
		return err
	}
	bom, err := generator.Generate()
	if err != nil {
		return err
	}
	return create(r.artefact(p, ".cdx.json"), func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}
