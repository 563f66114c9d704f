{{- define "lifeboat.labels" -}}
app.kubernetes.io/name: lifeboat
app.kubernetes.io/part-of: lifeboat
{{- end }}

{{- define "lifeboat.selector" -}}
app.kubernetes.io/name: lifeboat
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* How probes ask where the programs serve with TLS; a kubelet checks no certificate. */}}
{{- define "lifeboat.scheme" -}}
{{- if dig "listen" "tlsCertFile" "" .Values.config }}, scheme: HTTPS{{ end }}
{{- end }}

{{/* Where the programs listen: the port of listen.address. */}}
{{- define "lifeboat.port" -}}
{{- $listen := dig "listen" "address" "" .Values.config -}}
{{- required "config.listen.address must name a port, such as :9090" (regexFind "[1-9][0-9]*$" $listen) -}}
{{- end }}

{{/* Everything of one program: its account, its pods and how many of them may be away.
     Wants component, command, values and root. */}}
{{- define "lifeboat.program" -}}
{{- $root := .root -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: lifeboat-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "lifeboat.labels" . | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: lifeboat-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "lifeboat.labels" . | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels: {{- include "lifeboat.selector" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  template:
    metadata:
      labels:
        {{- include "lifeboat.labels" . | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
      annotations:
        checksum/config: {{ include "lifeboat.configuration" $root | sha256sum }}
        {{- with $root.Values.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec:
      serviceAccountName: lifeboat-{{ .component }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels: {{- include "lifeboat.selector" . | nindent 12 }}
      {{- range $key := list "priorityClassName" "nodeSelector" "tolerations" "affinity" "imagePullSecrets" }}
      {{- with index $root.Values $key }}
      {{ $key }}: {{ toJson . }}
      {{- end }}
      {{- end }}
      containers:
      - name: {{ .component }}
        image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        command: {{ toJson .command }}
        env:
        - {name: LIFEBOAT_CONFIG, value: /etc/lifeboat/config/lifeboat.yaml}
        - {name: KUBECONFIG, value: /etc/lifeboat/karmada/kubeconfig}
        - {name: TEMPORAL_CONFIG_FILE, value: /etc/lifeboat/temporal/temporal.toml}
        ports:
        - {name: http, containerPort: {{ include "lifeboat.port" $root }}, protocol: TCP}
        # It listens once it has asked Temporal and Karmada for what it needs.
        startupProbe:
          httpGet: {path: /healthz, port: http{{ include "lifeboat.scheme" $root }}}
          periodSeconds: 2
          failureThreshold: 60
        livenessProbe:
          httpGet: {path: /healthz, port: http{{ include "lifeboat.scheme" $root }}}
          periodSeconds: 20
          timeoutSeconds: 5
          failureThreshold: 3
        # Not ready says that Temporal or Karmada does not answer; the work waits for them.
        readinessProbe:
          httpGet: {path: /readyz, port: http{{ include "lifeboat.scheme" $root }}}
          periodSeconds: 10
          timeoutSeconds: 5
        resources: {{- toYaml .values.resources | nindent 10 }}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        volumeMounts:
        - {name: config, mountPath: /etc/lifeboat/config, readOnly: true}
        - {name: karmada, mountPath: /etc/lifeboat/karmada, readOnly: true}
        - {name: temporal, mountPath: /etc/lifeboat/temporal, readOnly: true}
        {{- with .values.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
      volumes:
      - name: config
        configMap: {name: lifeboat-config}
      - name: karmada
        secret: {secretName: {{ .values.karmadaSecret }}, defaultMode: 0440}
      - name: temporal
        {{- if $root.Values.temporal.existingSecret }}
        secret: {secretName: {{ $root.Values.temporal.existingSecret }}, defaultMode: 0440}
        {{- else }}
        configMap: {name: lifeboat-temporal}
        {{- end }}
      {{- with .values.extraVolumes }}{{ toYaml . | nindent 6 }}{{ end }}
{{- if $root.Values.podDisruptionBudget.enabled }}
---
# One at a time, also where none is ready because Temporal or Karmada is away.
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: lifeboat-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "lifeboat.labels" . | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "lifeboat.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{- define "lifeboat.configuration" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: lifeboat-config
  namespace: {{ .Release.Namespace }}
  labels: {{- include "lifeboat.labels" . | nindent 4 }}
data:
  lifeboat.yaml: |
    {{- toYaml .Values.config | nindent 4 }}
{{- if not .Values.temporal.existingSecret }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: lifeboat-temporal
  namespace: {{ .Release.Namespace }}
  labels: {{- include "lifeboat.labels" . | nindent 4 }}
data:
  temporal.toml: |
    [profile.default]
    address = {{ .Values.temporal.address | toJson }}
    namespace = {{ .Values.temporal.namespace | toJson }}
{{- end }}
{{- end }}
