package main

import (
	"bytes"
	_ "embed"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	packed "github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

//go:embed nfpm.yaml
var packageConfig []byte

// pack writes the deb or rpm package, as nfpm.yaml describes it, under the name that is usual for the format.
func (r release) pack(p program, format string) error {
	variables := map[string]string{"VERSION": r.version, "ARCH": p.arch, "STAGE": p.stage, "ROOT": r.root}
	config, err := nfpm.ParseWithEnvMapping(bytes.NewReader(packageConfig), func(name string) string {
		return variables[name]
	})
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info.MTime = r.date
	scripts := filepath.Join(r.root, "tools", "release")
	info.Scripts.PostInstall = filepath.Join(scripts, "postinstall.sh")
	info.Scripts.PreRemove = filepath.Join(scripts, "preremove.sh")
	for _, name := range slices.Sorted(maps.Keys(p.docs)) {
		info.Contents = append(info.Contents, &packed.Content{
			Source: filepath.Join(p.stage, name), Destination: "/usr/share/doc/redrain/" + name,
			FileInfo: &packed.ContentFileInfo{Mode: p.docs[name].permissions()},
		})
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return create(filepath.Join(r.dist, packager.ConventionalFileName(info)), func(w io.Writer) error {
		return packager.Package(info, w)
	})
}
