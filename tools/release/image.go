package main

import (
	"archive/zip"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the user and group of the image, the one that distroless images call nonroot.
const imageUser = 65532

// images are the container images of a release. They have no base image: redrain needs no other program.
type images struct {
	release

	layout string // folder of the OCI layout
	index  v1.ImageIndex
	base   files // of every platform
}

func newImages(r release, stage string) (*images, error) {
	zones, err := zip.OpenReader(filepath.Join(r.goroot, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = zones.Close() }() // it was only read
	base := files{
		"etc/passwd": {data: fmt.Appendf(nil, "redrain:x:%d:%[1]d::/var/lib/redrain:/sbin/nologin\n", imageUser)},
		"etc/group":  {data: fmt.Appendf(nil, "redrain:x:%d:\n", imageUser)},

		"etc/ssl/certs/ca-certificates.crt": {data: roots()},
		// A volume that is mounted here gets its owner.
		"var/lib/redrain/": {mode: os.ModeDir | 0o750, owner: imageUser},
		// For the in-process back ends.
		"tmp/": {mode: os.ModeDir | os.ModeSticky | 0o777},
	}
	return &images{release: r, layout: filepath.Join(stage, "image"), index: empty.Index, base: base},
		base.addTree("usr/share/zoneinfo/", zones)
}

// roots returns Mozilla's root certificates as PEM. Without those that count for old certificates only, because a PEM
// file cannot say so.
func roots() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return all.Bytes()
}

// add makes the image of a platform. It writes the image alone in the form of `docker save`.
func (i *images) add(p program) error {
	base, err := i.layer(i.base)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	content := files{"usr/bin/redrain": {data: binary, mode: 0o755}}
	for name, doc := range p.docs {
		content["usr/share/doc/redrain/"+name] = doc
	}
	own, err := i.layer(content)
	if err != nil {
		return err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.AppendLayers(image, base, own)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: i.date}
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%[1]d", imageUser),
		Entrypoint:   []string{"/usr/bin/redrain"},
		Cmd:          []string{"serve"},
		Env:          []string{"PATH=/usr/bin"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		WorkingDir:   "/var/lib/redrain",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "redrain",
			"org.opencontainers.image.version":  i.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	i.index = mutate.AppendManifests(i.index, mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
	})
	tag, err := name.NewTag("redrain:" + i.version)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(i.imagePath("-"+p.os+"-"+p.arch+".tar"), tag, image)
}

func (i *images) layer(content files) (v1.Layer, error) {
	var data bytes.Buffer
	if err := content.tar(&data, "", i.date); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

func (i *images) imagePath(suffix string) string {
	return filepath.Join(i.dist, "redrain-"+i.version+"-image"+suffix)
}

// writeIndex writes the images of all platforms together as an OCI layout in a tar file.
func (i *images) writeIndex() error {
	path, err := layout.Write(i.layout, empty.Index)
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": i.version})
	if err := path.AppendIndex(i.index, named); err != nil {
		return err
	}
	content := files{}
	if err := content.addTree("", os.DirFS(i.layout)); err != nil {
		return err
	}
	return create(i.imagePath(".oci.tar"), func(w io.Writer) error { return content.tar(w, "", i.date) })
}
