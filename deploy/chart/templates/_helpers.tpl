{{- define "redrain.name" -}}
{{- if contains "redrain" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-redrain" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "redrain.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Labels that select the pods of a part: (dict "root" $ "part" "gateway"). */}}
{{- define "redrain.selector" -}}
app.kubernetes.io/name: redrain
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "redrain.labels" -}}
{{ include "redrain.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* The settings of a part, as the file of --config. */}}
{{- define "redrain.config" -}}
{{- $v := .root.Values }}
{{- $c := dict "listen" ":8080" "admin-listen" ":9090" "log-format" "json" }}
{{- $_ := set $c "drain-delay" (printf "%ds" (int $v.drainDelay)) }}
{{- $_ := set $c "drain-timeout" (printf "%ds" (int $v.drainTimeout)) }}
{{- range $v.secret.keys }}{{ $_ := set $c (printf "%s-file" .) (printf "/etc/redrain/secrets/%s" .) }}{{ end }}
{{- range $k, $x := merge (deepCopy (index $v .part).config) $v.config }}
{{- if or $x (kindIs "bool" $x) (kindIs "float64" $x) (kindIs "int64" $x) }}{{ $_ := set $c $k $x }}{{ end }}
{{- end }}
{{- toYaml $c }}
{{- end }}

{{- define "redrain.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
{{- end }}

{{- define "redrain.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}
